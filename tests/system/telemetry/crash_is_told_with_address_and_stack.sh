#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A write to 0xdead: signal, code, address and at least one frame

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run_inside -- segv
assert_reason signaled
assert_eq "$(json .telemetry.counters.crashes)" 1 crashes
assert_eq "$(json 'crashes[0] | [.name, .si_code, .address, .comm] | tostring')" \
	'["SEGV",1,"0xdead","processes"]'
assert_ge "$(json 'crashes[0].frames | length')" 1 frames
assert_books

# Many with deep stacks: whoever reads is woken before there is no room.
run_inside -- crashes 300
assert_status 0
assert_eq "$(json '[.telemetry.counters.crashes, (crashes | length), .telemetry.complete] | tostring')" \
	"[300,300,true]"
assert_eq "$(json '[crashes[].frames | length] | min')" 32 frames
assert_books

# A signal that is sent is no address, and one that is handled no crash.
run -q -- sh -c 'kill -SEGV $$'
assert_eq "$(json 'crashes[0] | [.si_code, .address] | tostring')" '[0,"0x0"]'
run -q -- sh -c 'trap : ABRT; kill -ABRT $$; exit 0'
assert_status 0
assert_eq "$(json .telemetry.counters.crashes)" 0 crashes
