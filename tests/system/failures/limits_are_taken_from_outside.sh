#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cpu leaves a tenth of the share, memory a quarter of the limit, timeout ends the run at a time
# that the seed decides: all seen from inside, told with their sizes, and the same with the same
# seed; what could not happen is inconclusive
# kernel

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

# quota_of PID: what the kernel has for its group, in microseconds of each 100,000; empty before it is there.
quota_of()
{
	local group

	group=$(sed -n 's/^0:://p' "/proc/$1/cgroup")
	find /sys/fs/cgroup -path "*/${group##*/}/cpu.*" \( -name cpu.max -o -name cpu.cfs_quota_us \) -exec cut -d ' ' -f 1 {} \; 2>/dev/null
}
share_is_taken()
{
	init=$(pgrep -P "$supervisor" | head -n 1) && [ "$(quota_of "$init")" = 10000 ]
}

# At an intensity of 100 each stretch of half a second is one with a tenth of the share.
mkfifo "$tmp/in"
"$MENACE_RUN" -q -o "$result" -t "$(scaled 50)" --cpus 1 --set failure.modes=cpu --set failure.seed=1 -- \
	sh -c 'read -r _' <>"$tmp/in" &
supervisor=$!
wait_until 30 share_is_taken || fail "the share that the kernel has is not a tenth"
echo >"$tmp/in"
wait "$supervisor"
assert_eq $? 0 "exit status"
assert_ge "$(failure cpu opportunities)" 1
assert_eq "$(failure cpu fired)" "$(failure cpu opportunities)" "at an intensity of 100"
assert_eq "$(failure cpu cpus)" 0.1 "share"
assert_eq "$(json .inconclusive)" false
run -t "$(scaled 20)" --cpus 0.5 --set failure.modes=cpu --set failure.intensity=0 -- sleep 0.1
assert_ge "$(failure cpu opportunities)" 1
assert_eq "$(failure cpu fired) $(failure cpu ns) $(failure cpu cpus)" "0 0 null"
run -t "$(scaled 20)" --set failure.modes=cpu -- true
assert_eq "$(failure cpu cpus)" 0.1 "share where none was asked for"
assert_match "$(json .failure_seed)" '^[0-9]+$' "a seed is drawn"

# 32 of 64 MiB go well, and not where 16 are left.
helper=$MENACE_HELPERS/eat-memory
preread "$helper"
run -m 64M --ro "$helper:/eat" -- /eat anon 33554432
assert_eq "$stdout" "ate 33554432" "control"
run -m 64M --set failure.modes=memory --ro "$helper:/eat" -- /eat anon 33554432
assert_reason oom
assert_eq "$(failure memory bytes) $(failure memory limit_bytes)" "50331648 16777216"
assert_eq "$(failure memory opportunities) $(failure memory fired)" "1 1"
# It is at its new limit, and nowhere before, that the program meets it.
run -m 64M --set failure.modes=memory --ro "$helper:/eat" -- /eat anon 14680064
assert_eq "$stdout" "ate 14680064" "14 of the 16 MiB"
run -m 64M --set failure.modes=memory --ro "$helper:/eat" -- /eat anon 16777216
assert_reason oom
run -m 64M --set failure.modes=memory --set failure.intensity=0 --ro "$helper:/eat" -- /eat anon 33554432
assert_eq "$stdout" "ate 33554432" "where it does not fire"
assert_eq "$(failure memory opportunities) $(failure memory fired) $(failure memory limit_bytes)" "1 0 null"
run --set failure.modes=memory -m 4M -- true
assert_refused "failure.modes: memory: it takes away of a limit"

for seed in 1 1 2; do
	run --set failure.modes=timeout --set failure.seed=$seed --set failure.timeout_ms=400 -- sleep 60
	assert_status 137
	assert_reason injected
	assert_eq "$(failure timeout mark)" injected_timeout
	assert_eq "$(failure timeout opportunities) $(failure timeout fired)" "1 1"
	at=$(failure timeout at_ns)
	assert_ge "$(json '.usage.wall_us * 1000')" "$at" "time of the end"
	ats+=("$at")
done
assert_eq "${ats[*]}" "36148000 36148000 177371000" "times that these seeds draw, of 400 ms"
run --set failure.modes=timeout --set failure.timeout_ms=20s --set failure.seed=7 -- true
assert_status 0
assert_eq "$(json '[.inconclusive, .inconclusive_why[]] | join(" ")')" "true timeout: it had no opportunity"
