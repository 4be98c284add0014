# What menace-run and the programs of other backends share, and one library a backend: libcurl
# comes with thirty shared objects, and only menace-docker shall have them here.
file(GLOB docker_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/backend/docker*.c)
file(GLOB backend_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/backend/*.c)
file(GLOB qemu_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/backend/qemu*.c)
list(REMOVE_ITEM backend_sources ${docker_sources} ${qemu_sources})
add_library(mr_backend STATIC ${backend_sources})
target_link_libraries(mr_backend PUBLIC mr_supervise mr_launch mr_spec mr_cgroups mr_base)

add_library(mr_docker STATIC ${docker_sources})
target_link_libraries(mr_docker PUBLIC mr_backend PRIVATE PkgConfig::CURL)

add_library(mr_qemu STATIC ${qemu_sources})
# By its name: of a static program the archive is taken.
pkg_check_modules(LZ4 REQUIRED liblz4)
target_link_libraries(mr_qemu PUBLIC mr_backend mr_supervise mr_spec mr_base PRIVATE ${LZ4_LIBRARIES})
