#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A small program asks for the memory that is not there, and the kernel chooses a large one: the victim is the large
# one; where it ends the whole group, as v2 does, so are those that have not ended by the end of init

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
preread "$helper"
cp "$helper" "$tmp/large" && cp "$helper" "$tmp/small" || fail "copy"
preread "$tmp/large" "$tmp/small"
run -q -m 64m -t "$(scaled 60)" --ro "$tmp/large:/large" --ro "$tmp/small:/small" -- sh -c \
	'mkfifo p; /large hold 48 >p & read -r line <p; /small touch 24; wait; exit 0'
victims=$(json '[.telemetry.processes[] | select(.oom_victim) | .comm] | sort | join(" ")')
if [ "$host_cgroups" = v2 ]; then
	assert_match "$victims" '^large( menace-run)?( sh)?( small)?$' "victims"
else
	assert_eq "$victims" large "victims"
fi
assert_eq "$(json .telemetry.counters.oom_victims)" "$(wc -w <<<"$victims")" "victims"
assert_books
