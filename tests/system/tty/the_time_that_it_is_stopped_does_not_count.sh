#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run that is stopped for longer than its time limit ends by itself all the same
# lane: soak (stops for a time, and measures it)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_root

# A busy machine may keep it, or us, so long from running that the time beside that alone is over the limit: such a
# try tells nothing.
is_stopped()
{
	grep -q '^State:.T' "/proc/$supervisor/status"
}
is_stopped_or_over()
{
	is_stopped || ! lives "$supervisor"
}
is_ready_or_over()
{
	grep -q -x ready "$tmp/stdout" || ! lives "$supervisor"
}
mkdir -m 777 "$tmp/door"
for ((i = 0; i < 10; i++)); do
	rm -f "$tmp/door/go"
	start -q -t "$(scaled 2)" --ro "$tmp/door:/door" -- \
		sh -c 'echo ready; until [ -e /door/go ]; do sleep 0.02; done; echo over'
	wait_until 30 is_ready_or_over || fail "it does not begin"
	kill -TSTP "$supervisor"
	wait_until 30 is_stopped_or_over || fail "it goes on"
	stopped_ms=0
	if is_stopped; then
		began_ms=$(now_ms)
		sleep "$(scaled 2).5"
		stopped_ms=$(($(now_ms) - began_ms))
		: >"$tmp/door/go"
		kill -CONT "$supervisor"
	fi
	finish
	[ $((elapsed_ms - stopped_ms)) -ge "$(scaled 2000)" ] || break
done
assert_eq "$status:$stdout" 0:$'ready\nover' "the time it was stopped does not count"
