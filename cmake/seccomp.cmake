# The seccomp programs are compiled from syscalls.def while building; a run only
# loads bytes.  libseccomp is not part of the product: the unit test uses it to
# judge our compiler.
add_executable(gen-seccomp ${CMAKE_SOURCE_DIR}/tools/gen-seccomp.c)

set(seccomp_programs ${CMAKE_BINARY_DIR}/seccomp-programs.c)
add_custom_command(OUTPUT ${seccomp_programs}
  COMMAND gen-seccomp ${seccomp_programs}
  DEPENDS gen-seccomp
  COMMENT "Compiling the seccomp policies"
  VERBATIM)
target_sources(mr_launch PRIVATE ${seccomp_programs})

# tests.cmake, which makes the test, is included after this file.
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
function(link_seccomp_test)
  if(TARGET unit-test-seccomp)
    target_link_libraries(unit-test-seccomp PRIVATE PkgConfig::SECCOMP)
  endif()
endfunction()
cmake_language(DEFER CALL link_seccomp_test)
