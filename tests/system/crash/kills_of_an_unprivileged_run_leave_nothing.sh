#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same for a caller without rights: no process and no lease is left after
# kills at random instants and one new start
# security
# lane: soak (random instants)

. "${0%/*}/../../lib/system.sh"

check_leaks
need_user_of_its_own
need_file "$MENACE_HELPERS/kill-at-random"
kill_at_random=$tmp/kill-at-random
install -m 755 "$MENACE_HELPERS/kill-at-random" "$kill_at_random"

runs=$((MENACE_SLOWDOWN > 1 ? 20 : 60))
mkdir "$tmp/runtime"
chown "$user:$user" "$tmp/runtime"
export XDG_RUNTIME_DIR=$tmp/runtime
ours=("$MENACE_RUN" -q --best-effort cgroup)

list_processes()
{
	grep -l -s "^Uid:.*\b$user\b" /proc/[0-9]*/status | sort
}
nobody_runs()
{
	[ "$(list_processes)" = "$processes_before" ]
}
processes_before=$(list_processes)

run_plain "${as_user[@]}" "$kill_at_random" "$runs" "$(scaled 100000)" $RANDOM \
	"${ours[@]}" -- true :: \
	"${ours[@]}" -- sh -c '(setsid sleep 1000 &) ; sleep 1000 & sleep 1000' :: \
	"${ours[@]}" -- sh -c 'trap "" HUP INT TERM; yes'
assert_status 0
assert_match "$stdout" "^killed ([0-9]+) of $runs$" "helper"
assert_ge "${BASH_REMATCH[1]}" $((runs * 2 / 3)) "runs killed alive"

run_plain "${as_user[@]}" "${ours[@]}" -- echo ok
assert_eq "$stdout" ok
wait_until 30 nobody_runs || fail "processes are left: $(list_processes)"
assert_eq "$(find "$XDG_RUNTIME_DIR" -type f)" "" "leases"
