# The store is two libraries of one folder: what appends to the spool, which
# menace-run links and which knows no database, and the rest.
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)

set(spool_sources canon place redact spool)
list(TRANSFORM spool_sources REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/runtime/store/\\1.c")
add_library(mr_spool STATIC ${spool_sources})
target_link_libraries(mr_spool PUBLIC mr_base)

file(GLOB store_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/store/*.c)
list(REMOVE_ITEM store_sources ${spool_sources})
foreach(name schema statements)
  set(text ${CMAKE_SOURCE_DIR}/runtime/store/${name}.sql)
  set(source ${CMAKE_BINARY_DIR}/store-${name}.c)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${text} -DNAME=mr_sql_${name}
      -DHEADER=runtime/store/sections.h -DOUTPUT=${source}
      -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${text} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding ${name}.sql"
    VERBATIM)
  list(APPEND store_sources ${source})
endforeach()
add_library(mr_store STATIC ${store_sources})
target_link_libraries(mr_store PUBLIC mr_spool mr_base PRIVATE PkgConfig::SQLITE PkgConfig::SODIUM)
