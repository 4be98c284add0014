# Sections of Python files: two programs in Python are part of the library.
file(GLOB section_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/section/*.c)
foreach(name extract driver)
  set(text ${CMAKE_SOURCE_DIR}/runtime/section/${name}.py)
  set(source ${CMAKE_BINARY_DIR}/section-${name}.c)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${text} -DNAME=mr_section_${name}_py
      -DHEADER=runtime/section/embedded.h -DOUTPUT=${source} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${text} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding ${name}.py"
    VERBATIM)
  list(APPEND section_sources ${source})
endforeach()
add_library(mr_section STATIC ${section_sources})
target_link_libraries(mr_section PUBLIC mr_flow mr_backend mr_input mr_spec mr_base)
