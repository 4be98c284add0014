# Unit tests: tests/unit/test-NAME.c is one cmocka program.  It links every
# library; what a test may use is its author's care.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

file(GLOB unit_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/test-*.c)
foreach(source ${unit_tests})
  get_filename_component(name ${source} NAME_WE)
  add_executable(unit-${name} ${source})
  target_link_libraries(unit-${name} PRIVATE mr_supervise mr_launch mr_spec mr_cgroups mr_base
    PkgConfig::CMOCKA)
  add_test(NAME unit/${name} COMMAND unit-${name})
  set_tests_properties(unit/${name} PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 120)
endforeach()
