# The programs for the kernel: bpf/X.bpf.c -> X.bpf.o, which the loader carries in
# itself.  Their hash names the set they are pinned as, so that two builds never
# share one.  libbpf is linked into the loader alone, by the names of its parts, of which a static
# loader takes the archives.
find_program(BPF_CLANG NAMES clang clang-14 REQUIRED)
find_program(BPF_STRIP NAMES llvm-strip llvm-strip-14 REQUIRED)
pkg_check_modules(LIBBPF REQUIRED libbpf)

file(GLOB bpf_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bpf/*.bpf.c)
file(GLOB bpf_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bpf/*.bpf.h ${CMAKE_SOURCE_DIR}/bpf/*.def)
set(bpf_dir ${CMAKE_BINARY_DIR}/bpf)
file(MAKE_DIRECTORY ${bpf_dir})
foreach(source ${bpf_sources})
  get_filename_component(name ${source} NAME_WE)
  set(object ${bpf_dir}/${name}.bpf.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${BPF_CLANG} -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror
      -I${CMAKE_SOURCE_DIR} -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -c ${source} -o ${object}
    COMMAND ${BPF_STRIP} -g ${object}
    DEPENDS ${source} ${CMAKE_SOURCE_DIR}/bpf/wire.h ${bpf_headers}
    COMMENT "Compiling ${name}.bpf.c for the kernel"
    VERBATIM)
  list(APPEND bpf_objects ${object})
endforeach()

add_custom_command(OUTPUT ${bpf_dir}/build-id.h ${bpf_dir}/objects.c
  COMMAND ${CMAKE_COMMAND} -DOUT=${bpf_dir} "-DOBJECTS=${bpf_objects}"
    "-DSOURCES=${CMAKE_SOURCE_DIR}/bpf/wire.h;${CMAKE_SOURCE_DIR}/bpf/counters.def;${CMAKE_SOURCE_DIR}/bpf/probes.def"
    -P ${CMAKE_SOURCE_DIR}/cmake/bpf-embed.cmake
  DEPENDS ${bpf_objects} ${CMAKE_SOURCE_DIR}/cmake/bpf-embed.cmake ${CMAKE_SOURCE_DIR}/bpf/wire.h
    ${CMAKE_SOURCE_DIR}/bpf/counters.def ${CMAKE_SOURCE_DIR}/bpf/probes.def
  COMMENT "Embedding the programs for the kernel"
  VERBATIM)
add_custom_target(bpf-embed DEPENDS ${bpf_dir}/build-id.h ${bpf_dir}/objects.c)

foreach(name asm guard attach choice missed peek pins probe ring decode start steer)
  list(APPEND bpf_run_sources ${CMAKE_SOURCE_DIR}/bpf/${name}.c)
endforeach()
add_library(mr_bpf STATIC ${bpf_run_sources})
target_link_libraries(mr_bpf PUBLIC mr_base)
add_dependencies(mr_bpf bpf-embed)

add_library(mr_bpf_load STATIC ${CMAKE_SOURCE_DIR}/bpf/loader.c ${CMAKE_SOURCE_DIR}/bpf/sets.c
  ${CMAKE_SOURCE_DIR}/bpf/minbtf.c ${CMAKE_SOURCE_DIR}/bpf/kinds.c ${CMAKE_SOURCE_DIR}/bpf/loaded.c
  ${bpf_dir}/objects.c)
target_include_directories(mr_bpf_load PUBLIC ${LIBBPF_INCLUDE_DIRS})
target_link_directories(mr_bpf_load PUBLIC ${LIBBPF_LIBRARY_DIRS})
target_link_libraries(mr_bpf_load PUBLIC mr_bpf ${LIBBPF_STATIC_LIBRARIES})
add_dependencies(mr_bpf_load bpf-embed)
