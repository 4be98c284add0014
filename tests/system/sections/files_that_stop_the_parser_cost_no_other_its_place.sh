#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A file that is work for the parser, or ends it, is told by its own name and costs no other file its place,
# however many of them there are; nothing of it is kept for the next time
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program python3

# files_of_much_work_are_told_too does this with more of them, and larger ones.
killers=${killers:-1} size=${size:-1}

r=$tmp/r
mkdir "$r"
# Too many sections, a long chain of calls, what the parser itself refuses.
seq 0 10000 | sed 's/.*/def f&(): pass/' >"$r/a_over.py"
python3 -c 'for i in range(5001): print("def f%d(): f%d()" % (i, i + 1))' >"$r/b_chain.py"
echo 'def f5001(): eval("1")' >>"$r/b_chain.py"
python3 -c 'print("x = a" + ".b" * 100000)' >"$r/c_deep.py"
python3 - "$r" "$killers" "$size" <<'PY'
import sys
r, killers, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
# Python joins these names anew for each dot: the parser's memory ends before the file does.
for i in range(killers):
    with open("%s/d_killer%d.py" % (r, i), "w") as f:
        f.write("import a%s\nx = %d\n" % (".a" * 50000, i))
# Nested, chained and long: work that grows with the square of the text if it is done carelessly.
def write(name, text):
    with open("%s/%s.py" % (r, name), "w") as f:
        f.write(text)
write("e_lines", "x\n" * 10000 * size)
write("e_attributes", ("x = a" + ".b" * 900 + "\n") * 20 * size)
write("e_nested", "".join(" " * i + "def f%d():\n" % i for i in range(70)) + " " * 70 + "x;" * 10000 * size + "x\n")
write("e_doc", '"""' + "\n" * 50000 * size + 'end"""\n')
write("e_flags", "import os\n" + ("os.open(0," * 60 + "0" + ")" * 60 + "\n") * 20 * size)
write("f_doc", 'def f():\n    "\\ud800\\0 of halves"\n')
PY
echo 'def ok(): pass' >"$r/z_ok.py"

# scan: its document is the result.
scan()
{
	menace sections scan "$r" --json
	assert_status 1
	cp "$tmp/stdout" "$result"
}
scan
assert_eq "$(json '.files[:3][] | "\(.path) \(.error.message | tostring | .[:16]) \(.sections | length)"')" "a_over.py ValueError: over 0
b_chain.py null 5003
c_deep.py RecursionError:  0"
assert_eq "$(json '.files[1].sections[1] | "\(.name) \(.reach[0])"')" "f0 code"
assert_eq "$(json '[.files[] | select(.error.message | tostring | test("^its parser was ended: ")) | .path] | length')" "$killers" "blamed"
assert_eq "$(json '.files[] | select(.path | test("^e_|^f_|^z_")) | "\(.path) \(.error.message) \(.sections | length)"')" \
	"e_attributes.py null 1
e_doc.py null 1
e_flags.py null 1
e_lines.py null 1
e_nested.py null 71
f_doc.py null 2
z_ok.py null 2"
assert_eq "$(json '.files[] | select(.path == "e_doc.py") | .sections[0].doc')" end
# An end of ours is no knowledge of the file.
rm "$r/d_killer"[1-9]*.py 2>"$tmp/ignored"
scan
assert_eq "$(json '.counts | "\(.files - .cached) \(.errors)"')" "1 3"
