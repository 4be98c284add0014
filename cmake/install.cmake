# What is installed, and as which packages: cmake --install build; cd build && cpack -G DEB (or RPM)
#
# What people start goes to bin, what our programs start to libexec/menace, where
# runtime/base/sibling.c looks for it.  The target "programs" is all of it without the tests.

include(GNUInstallDirs)
set(started menace menace-run)
set(helping menace-docker menace-guest menace-init menace-netd menace-probe-load menace-qemu
  menace-send menace-symbolize)
add_custom_target(programs DEPENDS ${started} ${helping} man)
install(TARGETS ${started} DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${helping} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/menace)
foreach(page ${pages})
  string(REGEX REPLACE ".*\\." "" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(FILES README.md LICENSE docs/THREAT-MODEL.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_PACKAGE_NAME menace)
set(CPACK_PACKAGE_CONTACT "menace developers <menace@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "run untrusted programs in a sandbox and tell what they did")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "docker.io, qemu-system-x86, linux-image-cloud-amd64")
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
include(CPack)
