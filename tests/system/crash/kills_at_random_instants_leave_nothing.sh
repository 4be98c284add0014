#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-run killed by SIGKILL at random instants of set-up, run and tear-down:
# after one new start nothing of all those runs is left
# security
# lane: soak (random instants)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/runs.sh"

need_root
need_cgroups
check_leaks
kill_at_random=$MENACE_HELPERS/kill-at-random
need_file "$kill_at_random"

runs=${MENACE_KILL_RUNS:-$((MENACE_SLOWDOWN > 1 ? 60 : 500))}
seed=${MENACE_KILL_SEED:-$RANDOM$RANDOM}
echo "seed $seed"

# Files with our name where a program may put temporary ones, but for those of the tests and of
# what runs them.
list_files()
{
	find /tmp /var/tmp /dev/shm /run -xdev -maxdepth 1 -name '*menace*' ! -name 'menace-test.*' ! -name 'menace-tests.*' \
		! -name 'menace-ci.*' ! -name 'menace-vm.*' ! -name 'menace-conformance.*' ! -name 'menace-bench.*' 2>/dev/null | sort
	find "$TMPDIR" -mindepth 1
}

mkdir "$tmp/workspace" "$tmp/temporary" "$tmp/kept"
export TMPDIR=$tmp/temporary
seq 1000 >"$tmp/workspace/numbers"
for i in 1 2 3 4 5 6; do
	printf '{"schema": "menace.spec/1", "program": ["sh", "-c", "sleep 0.00%d & echo %d"]}\n' $i $i
done >"$tmp/specs"
run -q -- true # what stays of any first run: the folder of leases
files_before=$(list_files)
quiet=("$MENACE_RUN" -q)

run_plain "$kill_at_random" "$runs" "$(scaled 100000)" "$seed" \
	"${quiet[@]}" -- true :: \
	"${quiet[@]}" -- sleep 1000 :: \
	"${quiet[@]}" -- sh -c '(setsid sleep 1000 &) ; (sleep 1000 & sleep 1000 &) ; exit 0' :: \
	"${quiet[@]}" -- sh -c 'trap "" HUP INT TERM; echo out; yes' :: \
	"${quiet[@]}" -o /dev/null --workspace "$tmp/workspace" -- \
		sh -c 'rm numbers; echo new >new; cat new' :: \
	"${quiet[@]}" --userns --net loopback --tmpfs /scratch:1m -- sh -c 'sleep 0.005' :: \
	"${quiet[@]}" --level 2 --tty -- sh -c 'unshare -Ur true; echo done' :: \
	@"$tmp/specs" "${quiet[@]}" --batch -j 4 :: \
	@"$tmp/specs" "${quiet[@]}" --batch -j 1
assert_status 0
assert_match "$stdout" "^killed ([0-9]+) of $runs$" "helper"
# Of the instants at most a tenth lies behind the end; the rest must have hit.
assert_ge "${BASH_REMATCH[1]}" $((runs * 2 / 3)) "runs killed alive"

# One that certainly leaves something to be swept.
"${quiet[@]}" -- sh -c 'sleep 1000 & sleep 1000' &
started=$!
lease_exists()
{
	id=$(run_id_of "$started") && [ -f "/run/menace/leases/$id" ]
}
wait_until 30 lease_exists || fail "the last run took no lease"
kill -KILL "$started"
wait "$started" 2>/dev/null
[ -f "/run/menace/leases/$id" ] || fail "the killed run left no lease: nothing to be swept"

run -- echo ok
assert_status 0
assert_eq "$stdout" ok
assert_eq "$(list_files)" "$files_before" "temporary files"
assert_eq "$(list_stale_leases)" "" "leases of the dead"
assert_eq "$(md5sum <"$tmp/workspace/numbers")" "$(seq 1000 | md5sum)" "workspace"
assert_eq "$(ls "$tmp/workspace")" numbers "workspace"
