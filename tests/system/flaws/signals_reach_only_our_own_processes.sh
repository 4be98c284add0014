#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2022-31214 and relatives: a process outside is taken for one of ours, or the
# other way round.  Signals of the payload stay inside, those of the supervisor too
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_program setpriv
# A user of our own, so that an attack that works meets none but this test.
uid=$((61000 + $$ % 4000))
as_user=(setpriv "--reuid=$uid" "--regid=$uid" --clear-groups --inh-caps=-all)
install -d -o $uid -g $uid "$tmp/user"
export XDG_RUNTIME_DIR=$tmp/user

"${as_user[@]}" tail -f /dev/null &
bystander=$!
at_exit kill $bystander
is_program_of_the_user()
{
	[ "$(stat -c %u "/proc/$bystander") $(cat "/proc/$bystander/comm")" = "$uid tail" ]
}
wait_until 10 is_program_of_the_user || fail "the bystander does not start"
# "wait": a process that was killed is gone, not dying, when the run ends.
attack="kill -KILL -1; wait; kill -KILL 1; kill -TERM $bystander; kill -KILL $bystander -$bystander
	i=1; while [ \$i -lt 300 ]; do [ \$i = \$\$ ] || kill -KILL \$i; i=\$((i + 1)); done
	echo survived"

run_plain "${as_user[@]}" sh -c "kill -0 $bystander"
assert_status 0

# The kernel leaves the sender of kill(-1) out.
for options in "" --userns "--level 2"; do
	# shellcheck disable=SC2086 # words
	run $options -- sh -c "sleep 50 & $attack" 2>/dev/null
	assert_eq "$status $stdout" "0 survived" "payload with '$options'"
	assert_eq "$(json .leftover_killed)" 0 "left over with '$options'"
	kill -0 "$bystander" || fail "the bystander is gone"
done
run_plain "${as_user[@]}" "$MENACE_RUN" -q --best-effort cgroup -- sh -c "$attack"
assert_eq "$status $stdout" "0 survived" "payload of the same user"
kill -0 "$bystander" || fail "the bystander is gone"

# What the payload says it is does not matter: a name, a file, a pid written somewhere.
mkdir "$tmp/rw"
chown $uid:$uid "$tmp/rw"
run -t 1 --rw "$tmp/rw:/rw" -- sh -c "echo $bystander >/rw/pid; echo $bystander >/tmp/pid
	exec -a menace-run sh -c 'trap \"\" TERM HUP INT; while :; do :; done'" 2>/dev/null
assert_match "$status" '^(124|127|2)$' "exit status"
kill -0 "$bystander" || fail "the bystander is gone"
