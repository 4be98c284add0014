#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Files opened for writing, and those that are somebody's secret, with the path that the
# sandbox sees; null with the errno where the kernel lets no function be watched
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
mkdir -p "$tmp/home/alice" "$tmp/keys/.ssh"
echo secret >"$tmp/home/alice/diary"
echo key >"$tmp/keys/.ssh/id_rsa"
chmod -R a+rX "$tmp/home" "$tmp/keys"
odd=$'odd\x1b[31m'
run -q -t "$(scaled 30)" --telemetry full --store "$tmp/store.db" --ro "$tmp/home:/home" --ro "$tmp/keys:/keys" -- python3 -c '
import os, sys
open("/work/a", "w").close()
open("/work/a", "a").close()
open("/work/" + sys.argv[1], "w").close()
open("/dev/null", "w").close()
open("/work/a").close()
open("/home/alice/diary").close()
open("/keys/.ssh/id_rsa").close()
fd = os.open("/proc/self/mem", os.O_RDONLY)
for path in ("/work/none", "/etc/shadow-none"):
    try: open(path)
    except OSError: pass
long = "/work" + "/" + "d" * 200
os.mkdir(long)
open(long + "/" + "f" * 100, "w").close()' "$odd"
assert_status 0
counts() { json '.telemetry.counters | [.files_opened_to_write, .secrets_opened] | tostring'; }
opened() { json "[.telemetry.events[] | select(.type == \"open\" and .detail.$1) | .object] | tostring"; }
if [ "$(json '.telemetry.probes[] | select(.name == "files") | .state')" != attached ]; then
	assert_eq "$(counts)" "[null,null]" counters
	assert_eq "$(json '.telemetry.probes[] | select(.name == "files") | [.state, .errno] | tostring')" '["failed",1]'
	assert_eq "$(json .telemetry.complete)" false complete
	exit 0
fi
assert_eq "$(counts)" "[4,3]" counters
assert_eq "$(opened to_write)" '["/work/a","/work/a","/work/odd\u001b[31m",null]' "files written"
assert_eq "$(opened secret)" '["/home/alice/diary","/keys/.ssh/id_rsa","/proc/'"$(json '[.telemetry.processes[] | select(.comm == "python3") | .inner_pid][0]')"'/mem"]' secrets
assert_ge "$(json .telemetry.counters.files_opened)" 8 "files opened"
assert_books

need_file "$MENACE"
id=$("$MENACE" runs --json --store "$tmp/store.db" | gojq -r .run_id)
run_plain "$MENACE" show --store "$tmp/store.db" "$id"
assert_contains "$stdout" "      2x write  /work/a" "files shown"
assert_contains "$stdout" "      1x secret /home/alice/diary" "secrets shown"
assert_contains "$stdout" '/work/odd\x1b[31m' "a name that would act on the terminal"

# Many: the first are told, all are counted.
run -q -t "$(scaled 60)" --telemetry default,+files -- python3 -c '
for i in range(300): open("/work/a", "w").close()'
assert_eq "$(json .telemetry.counters.files_opened_to_write)" 300 "files opened to write"
assert_le "$(json '[.telemetry.events[] | select(.type == "open")] | length')" 256 "events"
run -q --telemetry full,-files -- true
assert_eq "$(json '[.telemetry.counters.files_opened, (.telemetry.probes[] | select(.name == "files") | .state, .consequence)] | tostring')" \
	'[null,"off","unknown: files opened; switched off by telemetry.probes"]'
