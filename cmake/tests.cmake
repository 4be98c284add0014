# Tests, one CTest label a folder of tests/:
#
#   unit    tests/unit/test-NAME.c         a cmocka program
#   priv    tests/priv/test-NAME.c         likewise, needs root
#   system  tests/system/TOPIC/NAME.sh     a script that runs menace-run
#   fuzz    tests/fuzz/fuzz-NAME.c         its corpus replayed; a libFuzzer program with MENACE_FUZZ
#
# tests/helpers/NAME.c are static programs that run inside the sandbox.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

set(test_libraries mr_section mr_flow mr_docker mr_qemu mr_backend mr_scenario mr_input mr_export mr_store mr_spool mr_supervise mr_bpf mr_launch mr_spec mr_cgroups mr_netns mr_base)

function(menace_cmocka_tests label)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${label}/test-*.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${label}-${name} ${source} ${ARGN})
    target_link_libraries(${label}-${name} PRIVATE ${test_libraries} PkgConfig::CMOCKA)
    add_test(NAME ${label}/${name} COMMAND ${label}-${name})
    set_tests_properties(${label}/${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77
      TIMEOUT 300)
  endforeach()
endfunction()

menace_cmocka_tests(unit)
menace_cmocka_tests(priv)
get_property(priv_tests DIRECTORY PROPERTY TESTS)
list(FILTER priv_tests INCLUDE REGEX "^priv/")
set_tests_properties(${priv_tests} PROPERTIES RUN_SERIAL TRUE) # they count groups and OOM kills
foreach(name stub stub-http)
  if(TARGET unit-test-${name})
    target_link_libraries(unit-test-${name} PRIVATE mr_stub)
  endif()
endforeach()
if(TARGET unit-test-docker-seccomp)
  target_link_libraries(unit-test-docker-seccomp PRIVATE seccomp) # as an engine's runtime does
endif()
if(TARGET unit-test-store)
  target_link_libraries(unit-test-store PRIVATE PkgConfig::SQLITE) # edits databases by itself
endif()
if(TARGET priv-test-rtnl)
  target_include_directories(priv-test-rtnl SYSTEM PRIVATE ${LIBNL_INCLUDE_DIRS}) # makes requests
  target_link_libraries(priv-test-rtnl PRIVATE ${LIBNL_LIBRARIES})
endif()
if(TARGET unit-test-redact)
  target_sources(unit-test-redact PRIVATE ${CMAKE_SOURCE_DIR}/tools/term.c)
endif()
if(TARGET unit-test-progress)
  target_sources(unit-test-progress PRIVATE ${CMAKE_SOURCE_DIR}/tools/progress.c)
endif()
if(TARGET unit-test-symbols)
  target_sources(unit-test-symbols PRIVATE ${CMAKE_SOURCE_DIR}/tools/symbols.c)
endif()
if(TARGET unit-test-learned)
  target_sources(unit-test-learned PRIVATE ${CMAKE_SOURCE_DIR}/tools/learned.c)
endif()
if(TARGET unit-test-cli)
  target_sources(unit-test-cli PRIVATE ${CMAKE_SOURCE_DIR}/tools/cli.c
    ${CMAKE_SOURCE_DIR}/tools/optable.c ${CMAKE_SOURCE_DIR}/tools/options.c)
endif()

# Helpers are what a hostile user would bring along: static, without our sanitizers.
file(GLOB helpers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/helpers/*.c)
foreach(source ${helpers})
  get_filename_component(name ${source} NAME_WE)
  set(target ${CMAKE_BINARY_DIR}/bin/helpers/${name})
  add_custom_command(OUTPUT ${target}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bin/helpers
    COMMAND ${CMAKE_C_COMPILER} -std=gnu17 -D_GNU_SOURCE -O1 -fno-omit-frame-pointer
      -Wall -Wextra -Werror -static -pthread -I${CMAKE_SOURCE_DIR} ${source} -o ${target}
    DEPENDS ${source} ${CMAKE_SOURCE_DIR}/tests/helpers/bad-calls.h
      ${CMAKE_SOURCE_DIR}/tests/helpers/number.h
      ${CMAKE_SOURCE_DIR}/bpf/sys.h ${CMAKE_SOURCE_DIR}/bpf/wire.h
      ${CMAKE_SOURCE_DIR}/bpf/probes.def ${CMAKE_SOURCE_DIR}/bpf/counters.def
    COMMENT "Building helper ${name}"
    VERBATIM)
  list(APPEND helper_targets ${target})
endforeach()
add_custom_target(test-helpers ALL DEPENDS ${helper_targets})

file(GLOB system_tests RELATIVE ${CMAKE_SOURCE_DIR}/tests/system CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/tests/system/*/*.sh)
foreach(script ${system_tests})
  string(REGEX REPLACE "\\.sh$" "" name ${script})
  set(path ${CMAKE_SOURCE_DIR}/tests/system/${script})
  add_test(NAME system/${name} COMMAND bash ${path})
  set_tests_properties(system/${name} PROPERTIES LABELS system SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "MENACE_RUN=$<TARGET_FILE:menace-run>;MENACE=$<TARGET_FILE:menace>;MENACE_STORE=none;MENACE_HELPERS=${CMAKE_BINARY_DIR}/bin/helpers")
  file(STRINGS ${path} serial REGEX "^# serial" LIMIT_COUNT 1)
  if(serial)
    set_tests_properties(system/${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
  file(STRINGS ${path} minutes REGEX "^# minutes [0-9]+$" LIMIT_COUNT 1)
  if(minutes)
    string(REGEX REPLACE "^# minutes " "" minutes ${minutes})
    math(EXPR seconds "${minutes} * 60")
    set_tests_properties(system/${name} PROPERTIES TIMEOUT ${seconds})
  endif()
  file(STRINGS ${path} any_kernel REGEX "^# any kernel" LIMIT_COUNT 1)
  if(any_kernel)
    set_property(TEST system/${name} APPEND PROPERTY LABELS any-kernel)
  endif()
endforeach()

# Every fuzz target is a regression test: its corpus runs in the ordinary suite.
file(GLOB fuzz_targets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz-*.c)
foreach(source ${fuzz_targets})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^fuzz-" "" topic ${name})
  add_executable(replay-${topic} ${source} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay-main.c)
  target_link_libraries(replay-${topic} PRIVATE ${test_libraries})
  if(topic MATCHES "^stub-")
    target_link_libraries(replay-${topic} PRIVATE mr_stub)
  endif()
  add_test(NAME fuzz/${topic} COMMAND replay-${topic} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${topic})
  set_tests_properties(fuzz/${topic} PROPERTIES LABELS fuzz TIMEOUT 300)
  if(MENACE_FUZZ)
    add_executable(${name} ${source})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_libraries(${name} PRIVATE ${test_libraries})
    if(topic MATCHES "^stub-")
      target_link_libraries(${name} PRIVATE mr_stub)
    endif()
  endif()
endforeach()

# The bench's own programs; tests/bench/run builds nothing.
if(NOT MENACE_SANITIZE)
  foreach(name driver getppid netns storm stream)
    add_executable(bench-${name} tests/bench/${name}.c)
    set_target_properties(bench-${name} PROPERTIES OUTPUT_NAME ${name}
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/bench)
    if(name STREQUAL netns) # measures inside of itself, not how it starts
      target_link_libraries(bench-${name} PRIVATE mr_netns)
    else()
      target_link_options(bench-${name} PRIVATE -static)
    endif()
  endforeach()
endif()
