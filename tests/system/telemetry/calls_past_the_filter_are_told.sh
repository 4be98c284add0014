#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Changes of identity and memory to run code from are counted exactly where they get past the
# filter; where it denies them they are denials and nothing else
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3 unshare
counts() { json '.telemetry.counters | [.identity_calls, .memfd_calls, .wx_calls, .forbidden_calls] | tostring'; }
code='import mmap, os
os.setuid(os.getuid())
os.setgid(os.getgid())
os.setresuid(os.getuid(), os.getuid(), os.getuid())
os.memfd_create("name")
for i in range(200):
    try: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError: pass
mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE)
os.spawnv(os.P_WAIT, "/usr/bin/unshare", ["unshare", "-U", "true"])'

assert_told()
{
	assert_eq "$(json '[.telemetry.events[] | select(.type == "attempt") | .object] | group_by(.) | map([.[0], length]) | tostring')" \
		'[["memfd_create",1],["mmap",64],["setgid",1],["setresuid",1],["setuid",1]]' "events: the first ones of each"
	assert_eq "$(json '[.telemetry.events[] | select(.object == "mmap") | .detail.args[2]] | unique | tostring')" '["0x7"]' arguments
	assert_eq "$(json '[.denials.rows[] | select(.what == "unshare") | .count] | tostring')" "[1]" "denials"
	assert_books
}

run -q -t "$(scaled 30)" --telemetry default,+attempts,+forbidden --lang python -c "$code"
assert_status 0
assert_eq "$(counts)" "[3,1,200,0]" calls
assert_told

# Where the filter denies writable code, and changes of identity, they are denials.
run -q -t "$(scaled 30)" --level 4 --telemetry default,+attempts,+forbidden --lang python -c 'import mmap, os
for i in range(3):
    try: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError: pass
try: os.setuid(os.getuid())
except OSError: pass'
assert_status 0
assert_eq "$(counts)" "[0,0,0,0]" "calls at level 4"
assert_eq "$(json '[.denials.rows[] | select(.what == "mmap" or .what == "setuid") | .count] | add')" 4 denials

# At full, where the kernel lets functions be watched, and null with the reason where it does not.
run -q -t "$(scaled 30)" --telemetry full --lang python -c "$code"
assert_status 0
if [ "$(json '.telemetry.probes[] | select(.name == "attempts") | .state')" = attached ]; then
	assert_eq "$(counts)" "[3,1,200,null]" "calls at full"
	assert_told
else
	assert_eq "$(counts)" "[null,null,null,null]" "calls at full"
	assert_eq "$(json '.telemetry.probes[] | select(.name == "attempts") | [.state, .errno] | tostring')" '["failed",1]'
fi
run -q -- true
assert_eq "$(counts)" "[null,null,null,null]" "calls at default"
assert_eq "$(json '.telemetry.above_level | [.attempts, .forbidden, .files] | tostring')" '["full","syscalls","full"]'

need_file "$MENACE"
"$MENACE_RUN" -q --telemetry default,+attempts --store "$tmp/store.db" --lang python -c 'import os
os.memfd_create("name")' || fail "the run"
id=$("$MENACE" runs --json --store "$tmp/store.db" | gojq -r .run_id)
run_plain "$MENACE" show --all --store "$tmp/store.db" "$id"
assert_contains "$stdout" "  memfd_calls              1" "counters shown"
assert_not_contains "$stdout" wx_calls "counters that are 0"
