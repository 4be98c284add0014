# What answers canned answers: objects of mr_netns that need OpenSSL, which only the
# programs that link mr_stub shall have.
pkg_check_modules(OPENSSL IMPORTED_TARGET openssl>=3.0)
if(NOT OPENSSL_FOUND)
  message(FATAL_ERROR "OpenSSL 3.0 or newer is missing, for the mocks of menace-netd: "
    "apt-get install libssl-dev, or tools/install-deps build")
endif()
target_include_directories(mr_netns SYSTEM PRIVATE ${OPENSSL_INCLUDE_DIRS})
add_library(mr_stub INTERFACE)
target_link_directories(mr_stub INTERFACE ${OPENSSL_LIBRARY_DIRS})
target_link_libraries(mr_stub INTERFACE mr_netns ssl crypto) # by name: menace-netd is static
