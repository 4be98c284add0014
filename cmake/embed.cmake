# Files as C texts.  Run by cmake -P, this writes one of them: INPUT as the symbol NAME, which HEADER
# declares, to OUTPUT.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${INPUT} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n${bytes}0\n};\n")
  return()
endif()

# Appends to the list one generated source a file; the symbol is prefix, the file's name without
# what follows a dot, suffix.
function(menace_embed list header prefix suffix)
  foreach(text ${ARGN})
    get_filename_component(name ${text} NAME_WE)
    get_filename_component(file ${text} NAME)
    set(source ${CMAKE_BINARY_DIR}/embedded-${file}.c)
    add_custom_command(OUTPUT ${source}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_SOURCE_DIR}/${text} -DNAME=${prefix}${name}${suffix}
        -DHEADER=${header} -DOUTPUT=${source} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
      DEPENDS ${text} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
      COMMENT "Embedding ${file}"
      VERBATIM)
    list(APPEND ${list} ${source})
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
