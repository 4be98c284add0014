#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is over a limit is ended soon after, whatever it does about it; what it is told to have taken is no
# more than what its caller saw pass
# security
# lane: soak (bounds on elapsed time)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -t 1ms -- sleep 1001
assert_ended 124 wall_timeout wall
assert_soon 0
run -t 1 -- sleep 1001
assert_soon 1000
told=${stderr##*wall_timeout after }
assert_le "${told%%.*}" "$(scaled 6)" "seconds told"
assert_le "$(json .usage.wall_us)" $(((elapsed_ms + 1) * 1000)) "wall clock told"
run -t 1 -- bash -c '(setsid sleep 1001 &); sleep 1002 & trap "" TERM; sleep 1003 | sleep 1004'
assert_soon 1000
for helper in "hold-pipe deaf" "hold-pipe alarms" "hold-pipe stopped" "fork-bomb forever"; do
	# shellcheck disable=SC2086 # words
	run_helper --pids 128 -t 1 -- $helper
	assert_reason wall_timeout
	assert_soon 1000
done
run --ro "$helpers:/helpers" --disk 4M -s limits.disk_inodes=1000 -t 1 -- bash -c '
	for ((i = 0; ; i++)); do
		/helpers/eat-disk bytes 1000000000 /tmp/$i /work/$i /dev/shm/$i
		/helpers/eat-disk inodes 1000000 /tmp /work /dev/shm
	done >/dev/null 2>&1'
assert_soon 1000
run --idle-timeout 500ms -t 60 -- sleep 1001
assert_reason idle_timeout
assert_soon 500
run_helper --idle-timeout 500ms -t 60 -- hold-pipe stopped
assert_reason idle_timeout
assert_soon 500
run_helper -m 16M -t 60 -- eat-memory anon 68719476736
assert_oom
assert_soon 0
run --ro "$helpers:/helpers" --pids 400 -m 64M -t 60 -- \
	bash -c 'for ((i = 0; i < 20; i++)); do /helpers/eat-memory anon 8388608 12 & done; wait'
assert_reason oom
assert_soon 0
run --ro "$helpers:/helpers" -m 32M -t 60 -- \
	sh -c 'sleep 1001 & /helpers/eat-memory anon 134217728; sleep 1002'
assert_oom
assert_soon 0
run --ro "$helpers:/helpers" -m 24M -t 60 -- \
	sh -c 'while :; do /helpers/eat-memory anon 33554432 4 & /helpers/eat-memory memfd 67108864; done'
assert_oom
assert_soon 0
