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
menace_embed(store_sources runtime/store/sections.h mr_sql_ ""
  runtime/store/schema.sql runtime/store/statements.sql)
add_library(mr_store STATIC ${store_sources})
target_link_libraries(mr_store PUBLIC mr_spool mr_base PRIVATE PkgConfig::SQLITE PkgConfig::SODIUM)
