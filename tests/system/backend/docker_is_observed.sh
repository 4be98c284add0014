#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The host's kernel sees a container as it sees a run of ours: all of the payload, from before its first
# instruction, nothing of others, and what cannot be observed is said to be lost
#
# Kept out of the VM lane by its time alone; there it is what a host of pure v2 shows.
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
export MENACE_STORE=none # but for one run
. "$repo/tests/lib/docker.sh"
. "$repo/tests/lib/telemetry.sh"

need_engine
need_program gojq
need_telemetry
start_engine
menace=$MENACE

# No limit that an engine refuses where the kernel does not count swap.
anywhere=(--memory unlimited)

# here OPTION... -- PROGRAM...: in a container.
here()
{
	"$MENACE_RUN" -q --backend docker "${anywhere[@]}" -o "$result" "$@" >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
}

# is STATUS EXPRESSION VALUE WHAT: of the result.
is()
{
	assert_eq "$status,$(json "$2 | tostring")" "$1,$3" "$4 ($(json .error) $(cat "$tmp/stderr"))"
}
lost='[.receipt.backend.losses[].item] | index("telemetry") != null'

# What it did, in the order in which it did it; its first process, which the engine made, is not of it.
here --store "$store" -- sh -c '/usr/bin/true; (exit 4); sh -c "kill -9 \$\$"; exit 3'
is 3 '.telemetry | [.level, .reason, .complete, .books.lost]' '["default",null,true,0]' "what is known"
is 3 '.telemetry.counters | [.forks, .execs, .exits, .exits_signaled]' '[4,3,4,1]' counters
is 3 '[.telemetry.processes[] | [.comm, .exe, .execs, .exit_code, .exit_signal]]' \
	'[["sh","/usr/bin/sh",1,3,null],["true","/usr/bin/true",1,0,null],["sh",null,0,4,null],["sh","/usr/bin/sh",1,null,9]]' processes
is 3 '[execs[].cwd] | unique' '["/work"]' "working folders"
is 3 "$lost" false "telemetry among the losses"
assert_books

# Inside it has other numbers than outside, and both are told.
here -- sh -c 'echo $$; /usr/bin/true; exit 0'
is 0 '.telemetry.processes[0].inner_pid' "$(cat "$tmp/stdout")" "the program's number inside"
is 0 '.telemetry.processes | [.[0].tgid != .[0].inner_pid, .[1].parent_tgid == .[0].tgid]' '[true,true]' "numbers outside"

# The store has them as those of any run.
run_plain "$MENACE" query --json --store "$store" \
	"SELECT exe, exit_code, exit_signal FROM processes ORDER BY start_boot_ns"
assert_eq "$(jq -c '[.exe, .exit_code, .exit_signal]' <<<"$stdout")" '["/usr/bin/sh",3,null]
["/usr/bin/true",0,null]
[null,4,null]
["/usr/bin/sh",null,9]' "processes in the store"

# One that was prepared is observed from its order on.
here --pool 1 -- true
pool_has 1
here --pool 1 -- sh -c '/usr/bin/true; /usr/bin/true; exit 6'
is 6 '[.receipt.container.pool, .telemetry.counters.forks, .telemetry.counters.execs, .telemetry.counters.exits]' \
	'["used",3,3,3]' "in a prepared container"
"$menace" pool drain >/dev/null || fail "pool drain"

# Two at once are kept apart.
for n in 20 30; do
	"$MENACE_RUN" -q --backend docker "${anywhere[@]}" -o "$tmp/result.$n" -- sh -c "for i in \$(seq $n); do /usr/bin/true; done" &
	pids[n]=$!
done
for n in 20 30; do
	wait "${pids[n]}" || fail "run $n"
	# With sh, seq and its subshell.
	assert_eq "$(jq -c '.telemetry.counters | [.forks, .execs, .exits]' "$tmp/result.$n")" "[$((n + 2)),$((n + 2)),$((n + 2))]" "counters of run $n"
done

# With a network there is what looks at sockets.
here --net loopback -- python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); c = socket.create_connection(s.getsockname())'
is 0 '.telemetry.counters | [.binds, .connects]' '[1,1]' sockets

# The end of the program is never crowded out, whatever its number is.
here --set limits.wall_ms=60000 --ro "$helper:/processes" -- sh -c '/processes forks 3000; exit 9'
is 9 '.telemetry.counters | [.forks, .execs, .exits]' '[3002,2,3002]' "counters of many"
is 9 '.telemetry.processes[0] | [.comm, .exit_code]' '["sh",9]' "the program's end"

# What cannot be observed is lost, and says why.
MENACE_BPF_DIR=$tmp here -- true
is 0 '[.telemetry.level, .telemetry.reason]' "[null,\"MENACE_BPF_DIR: $tmp is no bpf file system\"]" "without a bpf file system"
is 0 "$lost" true "telemetry among the losses"
here --telemetry off -- true
is 0 '[.telemetry.level, .telemetry.reason]' '[null,"switched off by telemetry.level"]' "switched off"
is 0 "$lost" false "telemetry among the losses, which nobody wanted"

# One whose supervisor is killed leaves nothing observed.
"$MENACE_RUN" -q --backend docker "${anywhere[@]}" -o "$result" -- sh -c 'echo begun; sleep 1000' >"$tmp/begun" 2>"$tmp/stderr" &
run=$!
wait_until 30 [ -s "$tmp/begun" ] || fail "it does not begin: $(cat "$tmp/stderr")"
assert_ne "$("$loader" entries)" "" "groups observed"
kill -9 "$(pgrep -P "$run" -x menace-docker)"
wait "$run"
here -- true
is 0 .telemetry.level default "the next"
assert_eq "$("$loader" entries)" "" "groups still observed"
