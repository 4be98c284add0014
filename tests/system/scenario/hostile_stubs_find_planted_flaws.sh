#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program with a flaw for each class of hostile inputs: as many replicates as there are classes find
# them all, each told with the class and the input that found it
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_system_program python3

# Each flaw ends it with a status of its own; the first that an input meets counts.
cat >"$tmp/weak.py" <<'END'
import datetime, json, re, sys
flaws = ["nothing", "encoding", "injection", "format", "markup", "traversal", "structure", "type", "size",
	"time", "numeric"]
raw = sys.stdin.buffer.read()
def meet(flaw, when):
    if when:
        sys.exit(10 + flaws.index(flaw))
meet("nothing", not raw.strip(b" \t\r\n\v\f\0") and len(raw) < 60000 or raw == b"null")
meet("encoding", any(byte > 127 for byte in raw))
text = raw.decode()
meet("injection", re.search(r"' OR|UNION|; cat|\$\(|\{\{7|\*\)\(|Set-Cookie|__import__|^--", text))
meet("format", re.search(r"%n|%1000|\{0\.", text))
meet("markup", text.startswith("<") or "onerror" in text)
meet("traversal", re.search(r"\.\.[/%]|^/(etc|proc|dev)/", text))
meet("size", not text.strip() or len(text) > 4096 and not text.startswith("[") or "Content-Length" in text)
try:
    value = json.loads(text, object_pairs_hook=lambda p: p if len(dict(p)) == len(p) else 1 / 0)
except (ValueError, ArithmeticError, RecursionError):
    meet("structure", text[:1] in "[{" or "\n" in text)
    value = None
meet("structure", "1e999" in text)
meet("type", isinstance(value, (list, str, bool)))
try:
    float(text)
    meet("numeric", text != "7")
except ValueError:
    meet("time", re.match(r"[0-9]{4}-[0-9]{2}", text))
END
cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "weak", "combined": false,
 "stubs": {"word": {"templates": ["fine"]}},
 "steps": [{"name": "read", "snippet": {"path": "weak.py"}, "stdin": "{{stub:word}}"}]}
END
found()
{
	gojq -r '.cells[] | select(.arm == "on" and .scenario == "hostile_input") |
		.per_copy[0].inputs[0].class + " " + (.failed_because // "passed")' "$result" | LC_ALL=C sort
}
menace scenario run "$tmp/flow.json" --scenarios normal,hostile_input -r 11 -j 2 -s 20 --slo 1h --json
assert_status 1
cp "$tmp/stdout" "$result"
assert_eq "$(found)" 'encoding step "read": exited with status 11
format step "read": exited with status 13
injection step "read": exited with status 12
markup step "read": exited with status 14
nothing step "read": exited with status 10
numeric step "read": exited with status 20
size step "read": exited with status 18
structure step "read": exited with status 16
time step "read": exited with status 19
traversal step "read": exited with status 15
type step "read": exited with status 17'
assert_eq "$(json '.worst_scenario, .status')" "hostile_input
situationally weak"
assert_eq "$(json '[.cells[] | select(.scenario == "normal") | .verdict] | unique | join(" ")')" passed

# Inputs with which it failed are tried again by name; the store has them with their class, but for
# the one that is too large.
assert_eq "$("$MENACE" query 'SELECT count(*) AS n, count(DISTINCT class) AS classes FROM inputs WHERE failed > 0' --json)" \
	'{"n":10,"classes":10}'
menace flow run "$tmp/flow.json" --stub-strategy failures --seed 2 --json
assert_status 1
cp "$tmp/stdout" "$result"
assert_match "$(json '.steps[0].metrics.exception')" "exited with status (1[0-9]|20)"
