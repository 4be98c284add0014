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

r=$tmp/r
mkdir "$r"
# Too many sections, a long chain of calls, what the parser itself refuses.
seq 0 10000 | sed 's/.*/def f&(): pass/' >"$r/a_over.py"
python3 -c 'for i in range(5001): print("def f%d(): f%d()" % (i, i + 1))' >"$r/b_chain.py"
echo 'def f5001(): eval("1")' >>"$r/b_chain.py"
python3 -c 'print("x = a" + ".b" * 100000)' >"$r/c_deep.py"
python3 - "$r" <<'PY'
import sys
r = sys.argv[1]
# Python joins these names anew for each dot: the parser's memory ends before the file does.
for i in range(2):
    with open("%s/d_killer%d.py" % (r, i), "w") as f:
        f.write("import a%s\nx = %d\n" % (".a" * 50000, i))
# Nested, chained and long: work that grows with the square of the text if it is done carelessly.
def write(name, text):
    with open("%s/%s.py" % (r, name), "w") as f:
        f.write(text)
write("e_lines", "x\n" * 100000)
write("e_attributes", ("x = a" + ".b" * 900 + "\n") * 200)
write("e_nested", "".join(" " * i + "def f%d():\n" % i for i in range(70)) + " " * 70 + "x;" * 100000 + "x\n")
write("e_doc", '"""' + "\n" * 500000 + 'end"""\n')
write("e_flags", "import os\n" + ("os.open(0," * 60 + "0" + ")" * 60 + "\n") * 200)
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
# A machine that others keep busy may be so slow that one of two that need too much has no time for it.
both_end_alike()
{
	rm -rf "$store.sections"
	scan
	[ "$(json '[.files[] | select(.path | test("killer.\\.py$")) | .error.message] | unique | length')" = 1 ]
}
patiently both_end_alike || fail "$(json .files)"
assert_eq "$(json '.files[:3][] | "\(.path) \(.error.message | tostring | .[:16]) \(.sections | length)"')" "a_over.py ValueError: over 0
b_chain.py null 5003
c_deep.py RecursionError:  0"
assert_eq "$(json '.files[1].sections[1] | "\(.name) \(.reach[0])"')" "f0 code"
assert_eq "$(json '[.files[] | select(.error.message | tostring | test("^its parser was ended: ")) | .path] | length')" 2 "blamed"
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
rm "$r/d_killer1.py"
scan
assert_eq "$(json '.counts | "\(.files - .cached) \(.errors)"')" "1 3"
