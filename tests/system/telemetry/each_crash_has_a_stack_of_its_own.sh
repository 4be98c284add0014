#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs that crash at the same time in different places: the stack that is told with each is its own, for none is kept
# under a number that another could have
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
# Calls 40 deep, none at all, and memory of no file.
run -q -t "$(scaled 60)" --ro "$helper:/processes" -- sh -c \
	'for i in 1 2 3 4 5; do /processes crashes 2 & /processes segv & /processes made-code & done 2>/dev/null; wait; exit 0'
assert_status 0
assert_eq "$(json .telemetry.counters.crashes)" 20 crashes
assert_eq "$(json 'crashes | length')" 20 "crashes that are told"
assert_eq "$(json '[crashes[] | select(.name == "ILL")] | length')" 5 "crashes in memory of no file"
assert_eq "$(json '[crashes[] | select(.name == "SEGV" and (.frames | length) == 32)] | length')" 10 "deep stacks"
assert_eq "$(json '[crashes[] | select(.name == "SEGV" and (.frames | length) < 10)] | length')" 5 "flat stacks"
# Where it happened is the innermost frame of that very one.
assert_eq "$(json '[crashes[] | select(.name == "ILL") | .frames[0] == .address] | all')" true "place of the crashes in memory"
assert_books
