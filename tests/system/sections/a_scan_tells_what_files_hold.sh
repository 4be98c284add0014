#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A scan tells every section of every Python file with exact lines, what cannot be parsed and what is left
# out; it sees a changed file, and parses no other again
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_system_program python3

r=$tmp/r
mkdir -p "$r/pkg" "$r/.git" "$r/pkg/__pycache__" "$tmp/outside"
echo 'def no(): pass' | tee "$r/.git/x.py" "$r/pkg/__pycache__/x.py" >"$tmp/outside/secret.py"
cat >"$r/pkg/kinds.py" <<'PY'
"""Kinds of sections.

More."""
import socket as s
from os import system

@decorated(1)
async def co(x: "int", *rest, key=None, **more) -> str:
    """First line.
    Second."""
    def inner(): pass
    return open(x, "w")

class C(Base):
    def __init__(self, q: Optional[dict], /): self.q = q
    @property
    def m(self): helper()

def helper(z: Session): return s.socket()

if True:
    def helper(): eval("1"); getattr(s, "sock" + "et")
PY
printf 'x = 1\ndef broken(:\n' >"$r/bad.py"
python3 -c 'print("x=" + "(" * 5000 + ")" * 5000)' >"$r/deep.py"
printf '# coding: nonsense\n' >"$r/coding.py"
printf '\xff' >"$r/bytes.py"
printf 'x = "\0"\n' >"$r/nul.py"
: >"$r/empty.py"
head -c $((1 << 20)) /dev/zero | tr '\0' '#' >"$r/large.py"
head -c $(((1 << 20) + 1)) /dev/zero | tr '\0' '#' >"$r/too_large.py"
ln -s "$tmp/outside" "$r/linked"
ln -s "$tmp/outside/secret.py" "$r/linked.py"
mkfifo "$r/fifo.py"
echo 'def no(): pass' >"$r/pkg/.hidden.py"
touch "$r/a:b.py" "$r/"$'new\nline.py' "$r/"$'\xff.py' "$r/text.txt"

# scan: its document is the result; there are files that it cannot look at.
scan()
{
	menace sections scan "$r" --json
	assert_status 1
	cp "$tmp/stdout" "$result"
}
scan
assert_eq "$(json '.files | map(.path) | join(" ")')" \
	"bad.py bytes.py coding.py deep.py empty.py large.py nul.py pkg/kinds.py" files
assert_eq "$(json '.counts | tojson')" '{"cached":0,"errors":5,"files":8,"sections":10}' counts
assert_eq "$(json '.files[] | select(.error) | "\(.path):\(.error.line)"')" "bad.py:2
bytes.py:1
coding.py:0
deep.py:1
nul.py:0"
assert_eq "$(json '.files[0].error.message')" "invalid syntax"
assert_eq "$(json '.left_out | .count, .missed, (.first[] | "\(.path): \(.why)")')" '8
5
a:b.py: has an odd name
fifo.py: is no regular file
linked: is a symbolic link
linked.py: is a symbolic link
new
line.py: has an odd name
pkg/.hidden.py: is hidden
too_large.py: is over 1 MiB
"\xff.py": has an odd name' "left out"
kinds='.files[] | select(.path == "pkg/kinds.py") | .sections[]'
assert_eq "$(json "$kinds | \"\\(.first)-\\(.last) \\(.kind) \\(.name) \\(.reach | join(\",\")) \\(.shadowed)\"")" "1-22 module  network,process false
7-12 function co write false
11-11 nested co.<locals>.inner  false
14-17 class C code,network false
15-15 method C.__init__  false
16-17 method C.m code,network false
19-19 function helper network true
22-22 function helper#2 code,network false" sections
assert_eq "$(json "$kinds | select(.name == \"co\") | .async, .doc, .decorators[0], .returns")" "true
First line.
decorated(1)
str"
assert_eq "$(json "$kinds | select(.name == \"co\" or .name == \"C.__init__\") | .parameters[] | \"\\(.name) \\(.kind) \\(.annotation) \\(.default) \\(.required) \\(.stub)\"")" \
	"x positional_or_keyword 'int' null true int
rest var_positional null null false any
key keyword_only null None false any
more var_keyword null null false any
self positional_only null null true any
q positional_only Optional[dict] null true dict"
assert_eq "$(json "$kinds | select(.name == \"helper\") | .parameters[0].stub, .sha256")" \
	"null
$(sed -n 19p "$r/pkg/kinds.py" | sha256sum | cut -d' ' -f1)"
assert_eq "$(json "$kinds | select(.kind == \"module\") | .doc, (.hints | map(\"\\(.kind) \\(.line) \\(.what)\") | join(\"; \"))")" \
	"Kinds of sections.
network 4 import socket; process 5 from os import system"
assert_no_match "$(json 'tojson')" 'secret|"no"'
cp "$result" "$tmp/first.json"

# Again, from what is kept: the same, and no run.
runs=$(count_runs)
scan
assert_eq "$(json .counts.cached)" 8
assert_eq "$(count_runs)" "$runs" "runs after a scan of what is known"
assert_eq "$(gojq 'del(.counts)' "$result" | sha256sum)" "$(gojq 'del(.counts)' "$tmp/first.json" | sha256sum)"
echo 'def more(): pass' >>"$r/empty.py"
scan
assert_eq "$(json '.counts.cached, .counts.sections')" "7
11"
assert_eq "$(json '.files[] | select(.path == "empty.py") | .sections[1] | .name')" more
assert_eq "$(count_runs)" $((runs + 1))
# What is kept can be forged: what does not fit its file is not believed.
for kept in "$store".sections/*.json; do
	sed -i 's/"reach":\["code","network"\]/"reach":[1]/; s/"name":"co"/"name":"%s%n"/' "$kept"
done
scan
assert_contains "$stderr" "of what was found before, 1 files are not as it is told: they are looked at anew"
assert_eq "$(json '.counts.cached, .counts.sections')" "7
11"
assert_eq "$(json "$kinds | select(.kind == \"function\") | .name" | head -n 1)" co
assert_eq "$(count_runs)" $((runs + 2))
# What is kept can be damaged, and a folder that others write is not used.
for kept in "$store".sections/*.json; do
	echo '{"version"' >"$kept"
done
scan
assert_contains "$stderr" "not used, and made anew"
assert_eq "$(json '.counts.cached, .counts.sections')" "0
11"
chmod 777 "$store.sections"
scan
assert_contains "$stderr" "is no folder of yours that nobody else can write; remove it, or chown it and chmod 700"
assert_eq "$(json .counts.cached)" 0
chmod 700 "$store.sections"
# For people; without a store nothing is kept.
MENACE_STORE=none menace sections scan "$r"
assert_contains "$stdout" "bad.py:2: invalid syntax"
assert_contains "$stdout" "function  async pkg/kinds.py:co(x, *rest, key=, **more)  write"
assert_contains "$stdout" "11 sections in 8 files; 5 files cannot be parsed, 8 are left out"

# Typos.
menace sections scam "$r"
assert_refused 'unknown verb "scam"; did you mean scan?'
menace sections scan "$tmp/nothing"
assert_refused "No such file or directory"
menace sections run "$r" pkg/kinds.py:helpr
assert_refused 'there is no section "pkg/kinds.py:helpr"; did you mean pkg/kinds.py:helper?'
menace sections run "$r" pkg/kinds.py:helper
assert_refused "section pkg/kinds.py:helper cannot be run: another definition of the same name takes its place"
menace sections run "$r" 'pkg/kinds.py:co.<locals>.inner'
assert_refused "it is within a function"
menace sections run "$r" --match 'zz*'
assert_refused 'no section matches "zz*"; menace sections scan'
menace sections run "$r" --match 'pkg/kinds.py:helper'
assert_refused "none of the 1 sections that are meant can be run; the first is pkg/kinds.py:helper: another definition of"
menace sections run "$r" --jops 2
assert_refused "did you mean --jobs?"
menace sections run "$r" --jobs 65
assert_refused "--jobs: 65 is out of range; accepted: 1 to 64"
menace sections run "$r" --stub-strategy hostil
assert_refused 'did you mean "hostile"?'
