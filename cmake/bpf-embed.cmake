# Run while building: OUT/build-id.h and OUT/objects.c from OBJECTS and SOURCES.
# A file that would come out the same is left alone.
set(text "")
set(rows "")
foreach(file ${OBJECTS} ${SOURCES})
  file(SHA256 ${file} hash)
  string(APPEND text "${hash}\n")
endforeach()
string(SHA256 id "${text}")
string(SUBSTRING ${id} 0 16 id)
set(c "#include \"bpf/objects.h\"\n\n")
foreach(object ${OBJECTS})
  get_filename_component(name ${object} NAME_WE)
  string(APPEND c "__asm__(\".section .rodata\\n.balign 8\\n.globl mr_bpf_${name}_start, mr_bpf_${name}_end\\n\"\n"
    "\t\"mr_bpf_${name}_start:\\n.incbin \\\"${object}\\\"\\nmr_bpf_${name}_end:\\n.previous\\n\");\n"
    "extern const unsigned char mr_bpf_${name}_start[], mr_bpf_${name}_end[];\n")
  string(APPEND rows "\t{ \"${name}\", mr_bpf_${name}_start, mr_bpf_${name}_end },\n")
endforeach()
string(APPEND c "\nconst struct mr_bpf_object mr_bpf_objects[] = {\n${rows}};\n"
  "const size_t mr_n_bpf_objects = sizeof(mr_bpf_objects) / sizeof(mr_bpf_objects[0]);\n"
  "/* ${id} */\n")
file(WRITE ${OUT}/objects.c.new "${c}")
file(WRITE ${OUT}/build-id.h.new "#pragma once\n#define MR_BPF_BUILD_ID \"${id}\"\n")
foreach(name objects.c build-id.h)
  file(COPY_FILE ${OUT}/${name}.new ${OUT}/${name} ONLY_IF_DIFFERENT)
endforeach()
