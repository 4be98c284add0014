#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Bursts of concurrency_spike that come late come one after the other: at no time are there more tasks than a
# burst has, or the payload would be refused its own
# lane: soak (waits for times to pass, and how many tasks live at one time is chance)

. "${0%/*}/../../lib/system.sh"
need_root
need_cgroups
need_program pgrep
mkfifo "$tmp/in"

bursts()
{
	burst=$(pgrep -P "$supervisor" -x menace-burst)
}

# 1: a thread that is to live a moment may have ended before the last of its burst begins, or a thread that has ended is counted until the kernel has put it away, for which a busy machine may need as long as
# the next burst takes.
late()
{
	"$MENACE_RUN" -q -o "$result" -t "$(scaled 60)" --set limits.pids_max=2000 --set failure.modes=concurrency_spike \
		--set failure.thread_burst=100 --set failure.task_burst=0 -- cat <"$tmp/in" >"$tmp/stdout" 2>"$tmp/stderr" &
	supervisor=$!
	exec {in}>"$tmp/in"
	wait_until 20 bursts || fail "no process makes bursts"
	kill -STOP "$burst"
	# As long as it takes five of them to be late, and to make up for that.
	sleep 5
	kill -CONT "$burst"
	sleep "$(scaled 3)"
	exec {in}>&-
	wait "$supervisor"
	assert_ge "$(json '.failures[0].fired')" 5 "bursts"
	# The payload, its init and the process that makes bursts are beside them.
	peak=$(json .usage.pids.peak)
	[ "$peak" -ge 100 ] && [ "$peak" -le 150 ]
}
patiently late || fail "$peak tasks at once"
