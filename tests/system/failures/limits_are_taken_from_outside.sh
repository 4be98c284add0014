#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cpu leaves a tenth of the share, memory a quarter of the limit, timeout ends the run at a time
# that the seed decides: all seen from inside, told with their sizes, and the same with the same
# seed; what could not happen is inconclusive

. "$(dirname "$0")/../../lib/system.sh"

need_root
need_cgroups

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

spin='import time
begin = time.process_time()
end = time.monotonic() + 1.5
n = 0
while time.monotonic() < end:
    n += 1
print(int((time.process_time() - begin) * 1000))'

run -t "$(scaled 20)" --cpus 1 --set failure.modes=cpu --set failure.seed=1 -- python3 -c "$spin"
assert_status 0
assert_le "$stdout" 400 "ms of CPU in 1.5 s at a tenth, and what was running when it ended"
assert_ge "$(failure cpu opportunities)" 3 "stretches of half a second"
assert_eq "$(failure cpu fired)" "$(failure cpu opportunities)" "at an intensity of 100"
assert_eq "$(failure cpu cpus)" 0.1 "share"
assert_ge "$(failure cpu ns)" 900000000 "time that it waited"
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
run -m 64M --set failure.modes=memory --ro "$helper:/eat" -- /eat anon 8388608
assert_eq "$stdout" "ate 8388608" "just under it"
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
	assert_ge "$at" 20000000
	assert_le "$at" 400000000
	assert_ge "$(json '.usage.wall_us * 1000')" "$at" "time of the end"
	assert_le "$(json .usage.wall_us)" $((at / 1000 + $(scaled 500000))) "time of the end"
	ats+=("$at")
done
assert_eq "${ats[1]}" "${ats[0]}" "the same seed"
assert_ne "${ats[2]}" "${ats[0]}" "another seed"
run --set failure.modes=timeout --set failure.timeout_ms=20s --set failure.seed=7 -- true
assert_status 0
assert_eq "$(json '[.inconclusive, .inconclusive_why[]] | join(" ")')" "true timeout: it had no opportunity"
