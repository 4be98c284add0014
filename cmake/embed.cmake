# cmake -DINPUT=x.sql -DNAME=symbol -DHEADER=x.h -DOUTPUT=x.c -P embed.cmake: a file as a C text
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n${bytes}0\n};\n")
