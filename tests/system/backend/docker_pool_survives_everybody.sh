#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whoever dies or cleans up whenever he likes: no living run dies of it, and nothing is left
#
# MENACE_POOL_RUNS: how many runs there are beside a cleaner (40).
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_program jq unshare setsid
with_own_leases
start_engine
menace=${MENACE:-${MENACE_RUN%/*}/menace}

# Somebody else's, with labels that look like ours.
foreign()
{
	curl -s --unix-socket "$engine_dir/sock" -H 'Content-Type: application/json' \
		-d "{\"Image\": \"$image\", \"Cmd\": [\"x\"], \"Labels\": $1}" \
		"http://engine/containers/create?name=$2" | jq -re .Id >/dev/null ||
		fail "no foreign container can be made"
}

"$MENACE_RUN" -q --backend docker --pool 2 -o "$tmp/result" -- true || fail "the first run"
pool_has 2
image=$(engine_get /images/json | jq -r '.[0].Id')
ours=$(engine_get /containers/json | jq -c '.[0].Labels')
id=$(jq -r '."org.menace.pool"' <<<"$ours")
lease=$(jq -r '."org.menace.lease"' <<<"$ours")
machine=$(jq -r '."org.menace.machine" // ""' <<<"$ours")

# Others' leases, labels of ours without an owner, ids that are none, another machine.
foreign "{\"org.menace.pool\": \"$id\", \"org.menace.lease\": \"another:1:2\"}" foreign
foreign "{\"org.menace.pool\": \"$id\"}" foreign-2
foreign "{\"org.menace.pool\": \"../../etc\", \"org.menace.lease\": \"$lease\"}" foreign-3
foreign "{\"org.menace.run\": \"$id\", \"org.menace.lease\": \"${lease}0\", \"org.menace.machine\": \"$machine\"}" foreign-4
foreign '{"menace_sandbox_pool": "1"}' menace-foreign-5
# Of another boot of this machine, but made since this one.
foreign "{\"org.menace.run\": \"$id\", \"org.menace.lease\": \"another:1:2\", \"org.menace.machine\": \"$machine\"}" foreign-6
foreigners=6

# containers_are_foreign: only those.
containers_are_foreign()
{
	local i

	for ((i = 0; i < 300; i++)); do
		[ "$(engine_containers)" = "$foreigners" ] && break
		sleep 0.1
	done
	[ "$(engine_get '/containers/json?all=1' | jq -r '.[].Names[0]' | grep -c 'foreign')" = "$foreigners" ] &&
		[ "$(engine_containers)" = "$foreigners" ] ||
		fail "containers: $(engine_get '/containers/json?all=1' | jq -c '.[]|[.Names,.State,.Labels]') $("$menace" pool status)"
}

# --dry-run changes nothing.
before=$("$menace" pool status --json | jq -c '[.containers[]|[.id,.state]]')
[ "$("$menace" cleanup --dry-run --json | jq -c '[.docker.drained,.docker.runs,.docker.prepared]')" = '[2,0,0]' ] ||
	fail "cleanup --dry-run: $("$menace" cleanup --dry-run --json)"
[ "$("$menace" pool drain --dry-run --json | jq .drained)" = 2 ] || fail "pool drain --dry-run"
"$menace" purge-stale || fail "purge-stale"
[ "$("$menace" pool status --json | jq -c '[.containers[]|[.id,.state]]')" = "$before" ] ||
	fail "a dry run or purge-stale took something that waits"
"$menace" cleanup >/dev/null || fail "cleanup"
containers_are_foreign

# begin_sleeper: a run in a prepared container that goes on; $run and its program $docker_pid.
begin_sleeper()
{
	local i

	"$MENACE_RUN" -q --backend docker --pool 1 -o "$tmp/result" -- true || fail "a run before the sleeper"
	pool_has 1
	nobody_cleans_up # whoever made it may be about to look whether another is missing
	rm -f "$tmp/begun"
	"$MENACE_RUN" -q --backend docker --pool 1 -o "$tmp/result" -- sh -c 'echo begun; sleep 1000' >"$tmp/begun" 2>"$tmp/stderr" &
	run=$!
	for ((i = 0; i < 300; i++)); do
		[ -s "$tmp/begun" ] && break
		sleep 0.1
	done
	docker_pid=$(pgrep -P "$run" -x menace-docker) || fail "there is no menace-docker: $(cat "$tmp/stderr")"
	"$menace" pool status --json | jq -e '.containers[]|select(.state == "used" and .held)' >/dev/null ||
		fail "it is not in a prepared container: $("$menace" pool status --json)"
}

# What has a label with the id of somebody who lives does not take him with it; what is of another boot and was
# made before this one goes.
"$MENACE_RUN" -q --backend docker -o "$tmp/result" -- sh -c 'echo begun; sleep 1000' >"$tmp/begun" 2>"$tmp/stderr" &
run=$!
for ((i = 0; i < 300; i++)); do
	[ -s "$tmp/begun" ] && break
	sleep 0.1
done
living=$(engine_get /containers/json | jq -r '.[0].Labels["org.menace.run"]')
foreign "{\"org.menace.pool\": \"$living\", \"org.menace.lease\": \"$lease\"}" decoy
"$menace" cleanup >/dev/null || fail "cleanup beside a decoy"
[ "$(engine_get /containers/json | jq -r '.[0].Labels["org.menace.run"]')" = "$living" ] ||
	fail "the living run has lost its container"
[ "$(engine_get /containers/decoy/json | jq -r .message)" = 'No such container: decoy' ] || fail "the decoy is there"
kill "$run"
wait "$run"
containers_are_foreign
# is_old NAME: it was made before a boot that is said to have been a second ago, whatever is rounded.
is_old()
{
	local made

	made=$(engine_get '/containers/json?all=1' | jq --arg name "/$1" '.[]|select(.Names[0] == $name).Created')
	[ $(($(date +%s) - made)) -ge 3 ]
}
if [ -n "$machine" ] && unshare --time --boottime 1 true 2>/dev/null; then
	wait_until 10 is_old foreign-6 || fail "foreign-6 does not get older"
	uptime=$(cut -d . -f 1 /proc/uptime)
	[ "$(unshare --time --boottime $((1 - uptime)) "$menace" purge-stale --json | jq .docker.old)" = 1 ] ||
		fail "what is of another boot stays"
	foreigners=5
	containers_are_foreign
fi

# A cleaner does not touch one that runs, nor one whose supervisor is stopped.
begin_sleeper
kill -STOP "$docker_pid"
"$menace" cleanup >/dev/null || fail "cleanup beside a run"
kill -CONT "$docker_pid"
kill -0 "$docker_pid" || fail "the supervisor is gone"
[ "$(engine_get /containers/json | jq length)" = 1 ] || fail "the running container is gone"

# Its supervisor is killed: the keeper removes it at once.
kill -9 "$docker_pid"
wait "$run"
[ "$(jq -r .reason "$tmp/result")" = supervisor_lost ] || fail "$(jq -c .reason "$tmp/result")"
containers_are_foreign

# The keeper, too: whoever comes next does, and does not take it for one that waits.
begin_sleeper
kill -9 "$(pgrep -P "$docker_pid" -x menace-keeper)" "$docker_pid"
wait "$run"
[ "$("$menace" check-resources --json | jq -c '[.short, .stale.docker.prepared]')" = '[["stale"],1]' ] ||
	fail "check-resources: $("$menace" check-resources --json)"
"$menace" check-resources >/dev/null && fail "check-resources finds nothing"
[ "$("$menace" purge-stale --json | jq .docker.prepared)" = 1 ] || fail "purge-stale"
containers_are_foreign
[ "$("$menace" check-resources --json | jq -c .short)" = '[]' ] || fail "check-resources: $("$menace" check-resources --json)"

# One that nobody takes ends by itself, and its remains are told and removed.
"$MENACE_RUN" -q --backend docker --pool 1 --set sandbox.pool_idle_ms=1000 -o "$tmp/result" -- true || fail "idle"
for ((i = 0; i < 300; i++)); do
	[ "$("$menace" pool status --json | jq -c '[.containers[].engine_state]')" = '["exited"]' ] && break
	sleep 0.1
done
[ "$("$menace" purge-stale --json | jq .docker.expired)" = 1 ] || fail "it does not end: $("$menace" pool status --json)"
containers_are_foreign

# Killed at any moment, with all of its processes or without: the next leaves nothing.
for ((i = 0; i < 12; i++)); do
	setsid "$MENACE_RUN" -q --backend docker --pool 1 -o /dev/null -- sh -c 'echo x; sleep 0.1' >/dev/null 2>&1 &
	run=$!
	sleep "0.$((RANDOM % 6))$((RANDOM % 10))"
	case $((i % 3)) in
	0) victims=$run ;;
	1) victims=$(ours menace-docker menace-keeper menace-filler) ;;
	2) victims=$(ours menace-docker) ;;
	esac
	# Word by word.
	echo "$victims" | xargs -r kill -9 2>/dev/null
	wait "$run" 2>/dev/null
done
nobody_cleans_up
"$menace" cleanup >/dev/null || fail "cleanup: $("$menace" cleanup)"
containers_are_foreign
"$menace" cleanup >/dev/null || fail "the second cleanup"
[ -z "$(find /run/menace/pool /run/menace/leases -type f ! -name '.*'; find /run/menace -maxdepth 1 -name 'docker-*')" ] ||
	fail "files are left: $(find /run/menace -name '*[!.]*' | head)"

# Two supervisors and a cleaner.
runs=${MENACE_POOL_RUNS:-40}
supervise()
{
	local i

	for ((i = 0; i < runs / 2; i++)); do
		"$MENACE_RUN" -q --backend docker --pool 2 -o "$tmp/result.$1" -- sh -c "echo $1.$i; exit 5" >"$tmp/out.$1" 2>"$tmp/err.$1"
		[ "$?,$(cat "$tmp/out.$1")" = "5,$1.$i" ] || {
			echo "run $i of $1: $(jq -c '[.reason,.exit,.error,.receipt.container]' "$tmp/result.$1") $(cat "$tmp/err.$1")" >>"$tmp/wrong"
		}
		jq -r .receipt.container.id "$tmp/result.$1" >>"$tmp/ids"
		jq -r .receipt.container.pool "$tmp/result.$1" >>"$tmp/pools"
	done
}
clean()
{
	until [ -e "$tmp/stop" ]; do
		"$menace" purge-stale >/dev/null 2>>"$tmp/cleaner" || echo "purge-stale: $?" >>"$tmp/cleaner"
		((RANDOM % 4)) || "$menace" pool drain >/dev/null 2>>"$tmp/cleaner" || echo "drain: $?" >>"$tmp/cleaner"
		sleep 0.1
	done
}
supervise one &
one=$!
supervise two &
two=$!
clean &
cleaner=$!
wait "$one" "$two"
touch "$tmp/stop"
wait "$cleaner"
[ ! -e "$tmp/wrong" ] || fail "$(cat "$tmp/wrong")"
[ ! -s "$tmp/cleaner" ] || fail "the cleaner: $(cat "$tmp/cleaner")"
[ -z "$(sort "$tmp/ids" | uniq -d)" ] || fail "used twice: $(sort "$tmp/ids" | uniq -d)"
grep -qx used "$tmp/pools" || fail "no container of the pool was used"
nobody_cleans_up
"$menace" cleanup >/dev/null || fail "cleanup"
containers_are_foreign

# The engine is killed and comes again: what waited in it is not taken.
"$MENACE_RUN" -q --backend docker --pool 1 -o "$tmp/result" -- true || fail "before the engine's end"
pool_has 1
kill -9 -- "-$engine_pid"
wait "$engine_pid" 2>/dev/null
"$MENACE_RUN" -q --backend docker --pool 1 -o "$tmp/result" -- true 2>/dev/null
[[ $? == 125 && $(jq -r '.reason + .error.message' "$tmp/result") == 'setup_error'*'no answer of the Docker Engine at unix://'* ]] ||
	fail "without the engine: $(jq -c '[.reason,.error]' "$tmp/result")"
