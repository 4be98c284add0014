#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each section is called in a sandbox of its own; what it says of the call is its word, what the kernel saw is
# held against its text, and one that fails stops no other
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program python3

r=$tmp/r
mkdir -p "$r/pkg"
: >"$r/pkg/__init__.py"
cat >"$r/pkg/calls.py" <<'PY'
import functools, os

def add(a: int, b: int, c=3, *, d: int):
    print("noise")
    return [type(x).__name__ for x in (a, b, c, d)]

async def later(name: str):
    return "hello " + type(name).__name__

def items():
    yield 1
    yield 2

def fails():
    raise KeyError("no such thing")

def writes():
    with open("pkg/out.txt", "w") as f:
        f.write("x")

def quiet_write():
    getattr(os, "mk" + "dir")("new")

def hidden_net():
    connect = getattr(__import__("soc" + "ket"), "create" + "_connection")
    connect(("192.0.2.1", 80), 1)

def starts():
    return os.system("true")

def unused():
    if False:
        os.system("true")

def lies():
    for fd in range(3, 20):
        try:
            os.write(fd, b'{"state": "returned", "type": "int", "value": "1"}\n')
        except OSError:
            pass
    os._exit(7)

def twice():
    for fd in range(3, 20):
        try:
            os.write(fd, b'{"state": "returned", "type": "int", "value": "1"}\n')
        except OSError:
            pass

def needs(session: Session):
    pass

def odd_bytes():
    os.write(2, b"before \xff after")

class Box:
    def __init__(self, size: int):
        self.size = size
    def double(self):
        return self.size * 2 > -1
    @staticmethod
    def kind(name: str):
        return type(name).__name__
    @property
    def half(self):
        return self.size / 2 >= 0

class Read:
    def __init__(self):
        self.taken = None
    @functools.cached_property
    def items(self):
        return [1, 2]
    @property
    def width(self):
        return 5
    @width.setter
    def width(self, value: int):
        raise ValueError("set to a " + type(value).__name__)
    @width.deleter
    def width(self):
        raise LookupError("deleted")
    @property
    def lost(self):
        return 1
    @property
    def lost(self):
        return 2
    @lost.setter
    def lost(self, value: str):
        self.taken = value
    @functools.singledispatchmethod
    def picks(self, value: int):
        return "any" if value is not None else "none"

@functools.singledispatch
def picks_one(value: str):
    return "any" if value is not None else "none"
PY
sed -i '1a class Session: pass' "$r/pkg/calls.py"
printf 'import sys\nsys.exit(3)\ndef f(): pass\n' >"$r/dies.py"
printf 'import os\nos._exit(0)\ndef f(): pass\n' >"$r/gone.py"
printf 'from pkg.b import y\nx = 1\ndef f(): pass\n' >"$r/pkg/a.py"
printf 'from pkg.a import x\ny = 1\n' >"$r/pkg/b.py"
printf 'def f(:\n' >"$r/bad.py"
printf 'import json\ndef f(): return json.name\n' >"$r/uses.py"
printf 'name = "mine"\n' >"$r/asyncio.py"
before=$(cd "$r" && find . | sort | sha256sum)

# What this kernel lets anybody see, from a run that has nothing to do with sections.
run -q -- true
assert_status 0
network_is_seen=$(json '.denials.by_layer.network != null')
processes_are_seen=$(json '.telemetry.level == "default"')

menace sections run "$r" --seed 7 --jobs 2 --timeout "$(scaled 50)" --json
assert_status 1
cp "$tmp/stdout" "$result"
assert_eq "$(json '.sections[] | "\(.section) \(.state) \(.outcome.type) \(.outcome.value) \(.outcome.line)"')" "dies.py:f not_imported SystemExit null 2
gone.py:f ended null null null
pkg/a.py:f not_imported ImportError null 1
pkg/calls.py:add returned list ['int', 'int', 'int', 'int'] null
pkg/calls.py:later returned str 'hello str' null
pkg/calls.py:items returned list [1, 2] null
pkg/calls.py:fails raised KeyError null 16
pkg/calls.py:writes returned NoneType None null
pkg/calls.py:quiet_write returned NoneType None null
pkg/calls.py:hidden_net raised OSError null 27
pkg/calls.py:starts returned int 0 null
pkg/calls.py:unused returned NoneType None null
pkg/calls.py:lies ended int 1 null
pkg/calls.py:twice ended null null null
pkg/calls.py:odd_bytes returned NoneType None null
pkg/calls.py:Box.double returned bool True null
pkg/calls.py:Box.kind returned str 'str' null
pkg/calls.py:Box.half returned bool True null
pkg/calls.py:Read.items returned list [1, 2] null
pkg/calls.py:Read.width returned int 5 null
pkg/calls.py:Read.width#2 raised ValueError null 80
pkg/calls.py:Read.width#3 raised LookupError null 83
pkg/calls.py:Read.lost#2 returned int 2 null
pkg/calls.py:Read.lost#3 returned NoneType None null
pkg/calls.py:Read.picks returned str 'any' null
pkg/calls.py:picks_one returned str 'any' null
uses.py:f raised AttributeError null 2"
assert_eq "$(json '.passed_by | tojson')" '[{"section":"pkg/calls.py:needs","why":"no stub is made for its parameter session"},{"section":"pkg/calls.py:Read.lost","why":"another definition of the same name takes its place"}]'
assert_eq "$(json '[.sections[] | .outcome.said_by] | unique | tojson')" '["program"]'
# of SECTION EXPRESSION
of()
{
	json ".sections[] | select(.section == \"pkg/calls.py:$1\") | $2"
}
assert_eq "$(of fails '.outcome | "\(.message) \(.file)"')" "'no such thing' pkg/calls.py"
# A setter is called by an assignment, with the value that is told.
assert_eq "$(of Read.width#2 '.outcome.message, (.inputs | map("\(.stub) \(.strategy)") | join(","))')" "set to a int
value smart"
assert_eq "$(of Read.width '.inputs | length')" 0
assert_eq "$(of lies '"\(.reason) \(.exit.status)"')" "exited 7"
assert_eq "$(of twice .outcome.message)" "what it says cannot be read"
assert_eq "$(of add '.output, (.inputs | map("\(.stub) \(.strategy) \(.seed)") | join(","))')" "noise

a smart 7,b smart 7,d smart 7"
assert_eq "$(of odd_bytes '.output, .output_base64')" 'before \xff after
YmVmb3JlIP8gYWZ0ZXI='
# What the kernel saw, held against the text.
assert_eq "$(of writes '.seen.write.count, .seen.write.what[0], (.undeclared | length)')" "1
added pkg/out.txt
0"
assert_eq "$(of quiet_write '.undeclared | map(.kind) | join(",")')" write
assert_eq "$(of quiet_write '.undeclared[0].what[0]')" "added new"
assert_eq "$(of add '.seen.write.count, (.undeclared | length), (.unused_hints | length)')" "0
0
0"
if [ "$network_is_seen" = true ]; then
	assert_eq "$(of hidden_net .seen.network.count)" 1
	assert_eq "$(of add .seen.network.count)" 0
	assert_eq "$(of hidden_net '.undeclared[0] | "\(.kind) \(.what[0])"')" "network connect 192.0.2.1:80"
	assert_eq "$(of hidden_net .denials.total)" 1
else
	assert_eq "$(of hidden_net .seen.network.count)" null
fi
if [ "$processes_are_seen" = true ]; then
	assert_eq "$(of starts '.seen.process.count, (.undeclared | length)')" "1
0"
	assert_eq "$(of unused '.seen.process.count, .unused_hints[0]')" "0
process"
	assert_eq "$(of add .seen.process.count)" 0
else
	assert_eq "$(of starts .seen.process.count)" null
	assert_eq "$(of unused '.unused_hints | length')" 0
fi
assert_eq "$(cd "$r" && find . | sort | sha256sum)" "$before" "the repository"

# The seed makes the values again; the strategy is the caller's; each run is in the store by its name.
value=$(of add '.inputs | map(.value) | tojson')
menace sections run "$r" pkg/calls.py:add --seed 7 --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(of add '.inputs | map(.value) | tojson')" "$value"
menace sections run "$r" -m '*:l*r' --seed 7 --stub-strategy hostile --json
cp "$tmp/stdout" "$result"
assert_eq "$(json '.sections | map("\(.section) \(.inputs[0].strategy)") | join(" ")')" "pkg/calls.py:later hostile"
id=$(of later .run_id)
assert_eq "$("$MENACE" query "SELECT name FROM runs WHERE run_id = '$id'" --json)" '{"name":"section pkg/calls.py:later"}'
menace sections run "$r" pkg/calls.py:fails
assert_status 1
assert_contains "$stdout" "pkg/calls.py:fails  KeyError: 'no such thing'"
printf 'def never():\n    while True: pass\n' >"$r/never.py"
menace sections run "$r" never.py:never --timeout 1 --json
assert_status 1
cp "$tmp/stdout" "$result"
assert_eq "$(json '.sections[] | "\(.section) \(.state) \(.reason)"')" "never.py:never ended wall_timeout"
