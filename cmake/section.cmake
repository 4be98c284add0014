# Sections of Python files: two programs in Python are part of the library.
file(GLOB section_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/section/*.c)
menace_embed(section_sources runtime/section/embedded.h mr_section_ _py
  runtime/section/extract.py runtime/section/driver.py)
add_library(mr_section STATIC ${section_sources})
target_link_libraries(mr_section PUBLIC mr_flow mr_backend mr_input mr_spec mr_base)
