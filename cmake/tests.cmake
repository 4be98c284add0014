# Tests.  The folder of a test is its kind, which is a CTest label:
#
#   unit    tests/unit/test-NAME.c         a cmocka program
#   priv    tests/priv/test-NAME.c         likewise, needs root
#   system  tests/system/TOPIC/NAME.sh     a script that runs menace-run
#   fuzz    tests/fuzz/fuzz-NAME.c         its corpus replayed; a libFuzzer program with MENACE_FUZZ
#
# Lines in the head of a test say where it runs.  They become labels, too:
#
#   # lane: soak|engine|machine     in that lane and not in the gate; without one: gate
#   # kernel, or kernel gate        in the VM lane as well; "gate": in the boot of twenty tests that the gate may end with
#   # security                      never run again when it fails
#   # sanitizers                    in the gate with ASan and UBSan as well
#   # serial                        nothing runs beside it
#   # minutes N                     it is ended after that, and not after what ctest --timeout says
#
# tests/helpers/NAME.c are static programs that run inside the sandbox.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

set(test_libraries mr_section mr_flow mr_docker mr_qemu mr_backend mr_scenario mr_input mr_export mr_store mr_spool mr_supervise mr_bpf mr_launch mr_spec mr_cgroups mr_netns mr_base)

# menace_place_test(TEST FILE KIND): its labels and properties, from the first lines of its file.
function(menace_place_test test file kind)
  set(lane gate)
  file(STRINGS ${file} words REGEX
    "^(#| \\*) (lane: [a-z]+( .*)?|serial( .*)?|minutes [0-9]+|kernel( gate)?|security|sanitizers)$"
    LIMIT_INPUT 3000)
  foreach(word ${words})
    string(REGEX REPLACE "^(#| \\*) " "" word "${word}")
    if(word MATCHES "^lane: ([a-z]+)")
      set(lane ${CMAKE_MATCH_1})
      if(NOT lane MATCHES "^(soak|engine|machine)$")
        message(FATAL_ERROR "${file}: lane ${lane}: not one of soak, engine, machine")
      endif()
    elseif(word MATCHES "^minutes ([0-9]+)")
      math(EXPR seconds "${CMAKE_MATCH_1} * 60")
      set_tests_properties(${test} PROPERTIES TIMEOUT ${seconds})
    elseif(word MATCHES "^serial")
      set_tests_properties(${test} PROPERTIES RUN_SERIAL TRUE)
    elseif(word STREQUAL "kernel gate")
      list(APPEND labels kernel kernel-gate)
    else()
      list(APPEND labels ${word})
    endif()
  endforeach()
  set_tests_properties(${test} PROPERTIES LABELS "${kind};${lane};${labels}" SKIP_RETURN_CODE 77)
endfunction()

function(menace_cmocka_tests label)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${label}/test-*.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${label}-${name} ${source} ${ARGN})
    target_link_libraries(${label}-${name} PRIVATE ${test_libraries} PkgConfig::CMOCKA)
    add_test(NAME ${label}/${name} COMMAND ${label}-${name})
    menace_place_test(${label}/${name} ${source} ${label})
    if(label STREQUAL unit AND IS_DIRECTORY /dev/shm)
      # Trees of thousands of files take a minute on a disk that others keep busy.
      set_tests_properties(${label}/${name} PROPERTIES ENVIRONMENT TMPDIR=/dev/shm)
    endif()
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
foreach(name store store-open)
  if(TARGET unit-test-${name})
    target_link_libraries(unit-test-${name} PRIVATE PkgConfig::SQLITE) # edit databases by themselves
  endif()
endforeach()
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
  menace_place_test(system/${name} ${path} system)
  set_tests_properties(system/${name} PROPERTIES
    ENVIRONMENT "MENACE_RUN=$<TARGET_FILE:menace-run>;MENACE=$<TARGET_FILE:menace>;MENACE_STORE=none;MENACE_HELPERS=${CMAKE_BINARY_DIR}/bin/helpers")
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
  menace_place_test(fuzz/${topic} ${source} fuzz)
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
