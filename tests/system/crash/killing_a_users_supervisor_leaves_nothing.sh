#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGKILL of the menace-run of a caller without rights ends every process of the payload, and his next start
# sweeps the lease
# security

. "${0%/*}/../../lib/system.sh"

check_leaks
need_user_of_its_own
mkdir "$tmp/runtime"
chown "$user:$user" "$tmp/runtime"
export XDG_RUNTIME_DIR=$tmp/runtime
ours=("${as_user[@]}" "$MENACE_RUN" -q --best-effort cgroup)

# One that has ended, and that the host's own init has not waited for yet, is not there.
list_processes()
{
	grep -l -s "^Uid:.*\b$user\b" /proc/[0-9]*/status | xargs -r grep -L -s '^State:.Z'
}
nobody_runs()
{
	[ -z "$(list_processes)" ]
}
nobody_runs || fail "the user has processes already: $(list_processes)"

mkfifo "$tmp/ready"
"${ours[@]}" -- bash -c '
	trap "" HUP INT TERM
	(setsid sleep 1001 &)
	(sleep 1002 & kill -STOP $!)
	echo
	while :; do :; done' >"$tmp/ready" &
supervisor=$!
read -r _ <"$tmp/ready"
assert_ge "$(list_processes | wc -l)" 5 "processes of the run"
assert_eq "$(find "$XDG_RUNTIME_DIR" -type f | wc -l)" 1 "leases of the run"
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
wait_until 30 nobody_runs || fail "processes are left: $(list_processes)"
assert_eq "$(find "$XDG_RUNTIME_DIR" -type f | wc -l)" 1 "leases before a sweep"
run_plain "${ours[@]}" -- echo ok
assert_eq "$status $stdout" "0 ok"
assert_eq "$(find "$XDG_RUNTIME_DIR" -type f)" "" "leases"
