# What the library netns has beside its C: libnl for rtnetlink, and the programs that
# lose packets, compiled for the kernel and kept as the bytes of their instructions.
find_program(BPF_CLANG NAMES clang clang-14 REQUIRED)
find_program(BPF_OBJCOPY NAMES llvm-objcopy llvm-objcopy-14 REQUIRED)
pkg_check_modules(LIBNL REQUIRED libnl-3.0)

set(netns_dir ${CMAKE_BINARY_DIR}/netns)
file(MAKE_DIRECTORY ${netns_dir})
add_custom_command(OUTPUT ${netns_dir}/drop_code.h
  COMMAND ${BPF_CLANG} -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror
    -I${CMAKE_SOURCE_DIR} -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
    -c ${CMAKE_SOURCE_DIR}/netns/drop.bpf.c -o ${netns_dir}/drop.bpf.o
  COMMAND ${BPF_OBJCOPY} -O binary --only-section=leaving
    ${netns_dir}/drop.bpf.o ${netns_dir}/leaving.bin
  COMMAND ${BPF_OBJCOPY} -O binary --only-section=arriving
    ${netns_dir}/drop.bpf.o ${netns_dir}/arriving.bin
  COMMAND ${BPF_OBJCOPY} -O binary --only-section=windows
    ${netns_dir}/drop.bpf.o ${netns_dir}/windows.bin
  COMMAND ${CMAKE_COMMAND}
    "-DINPUTS=${netns_dir}/leaving.bin;${netns_dir}/arriving.bin;${netns_dir}/windows.bin"
    -DPREFIX=mr_drop_ -DOUTPUT=${netns_dir}/drop_code.h -P ${CMAKE_SOURCE_DIR}/cmake/bytes.cmake
  DEPENDS ${CMAKE_SOURCE_DIR}/netns/drop.bpf.c ${CMAKE_SOURCE_DIR}/netns/drop_wire.h
    ${CMAKE_SOURCE_DIR}/cmake/bytes.cmake
  COMMENT "Compiling drop.bpf.c for the kernel"
  VERBATIM)
set(relay_bins)
set(relay_copies)
foreach(section round guard back)
  list(APPEND relay_bins ${netns_dir}/${section}.bin)
  list(APPEND relay_copies COMMAND ${BPF_OBJCOPY} -O binary --only-section=${section}
    ${netns_dir}/relay.bpf.o ${netns_dir}/${section}.bin)
endforeach()
add_custom_command(OUTPUT ${netns_dir}/relay_code.h
  COMMAND ${BPF_CLANG} -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror
    -I${CMAKE_SOURCE_DIR} -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
    -c ${CMAKE_SOURCE_DIR}/netns/relay.bpf.c -o ${netns_dir}/relay.bpf.o
  ${relay_copies}
  COMMAND ${CMAKE_COMMAND} "-DINPUTS=${relay_bins}"
    -DPREFIX=mr_relay_ -DOUTPUT=${netns_dir}/relay_code.h -P ${CMAKE_SOURCE_DIR}/cmake/bytes.cmake
  DEPENDS ${CMAKE_SOURCE_DIR}/netns/relay.bpf.c ${CMAKE_SOURCE_DIR}/netns/relay_wire.h
    ${CMAKE_SOURCE_DIR}/cmake/bytes.cmake
  COMMENT "Compiling relay.bpf.c for the kernel"
  VERBATIM)
target_sources(mr_netns PRIVATE ${netns_dir}/drop_code.h ${netns_dir}/relay_code.h)
target_include_directories(mr_netns SYSTEM PRIVATE ${LIBNL_INCLUDE_DIRS})
target_link_libraries(mr_netns PUBLIC nl-3)
