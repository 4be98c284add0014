# What writes the store's runs in the formats of other programs, and what sends them: two
# libraries of one folder, for libcurl comes with thirty shared objects and only
# menace-send shall have them.
pkg_check_modules(CURL IMPORTED_TARGET libcurl>=7.85)
if(NOT CURL_FOUND)
  message(FATAL_ERROR "libcurl 7.85 or newer is missing, for menace-send: "
    "apt-get install libcurl4-openssl-dev, or tools/install-deps build")
endif()

set(send_sources ${CMAKE_SOURCE_DIR}/runtime/export/send.c)
add_library(mr_send STATIC ${send_sources})
target_link_libraries(mr_send PUBLIC mr_base PRIVATE PkgConfig::CURL)

file(GLOB export_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/export/*.c)
list(REMOVE_ITEM export_sources ${send_sources})
add_library(mr_export STATIC ${export_sources})
target_link_libraries(mr_export PUBLIC mr_store mr_base)
