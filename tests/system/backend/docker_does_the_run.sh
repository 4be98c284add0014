#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run in a container means what it means natively, but for what is said to be lost
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_program jq
start_engine

# here ARGUMENT...: a run in a container; its messages are not its program's.
here()
{
	"$MENACE_RUN" -q --backend docker -o "$tmp/result" "$@" >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
}

# is STATUS EXPRESSION VALUE: of the result.
is()
{
	local got

	got=$(jq -cS "$2" "$tmp/result")
	[ "$status,$got" = "$1,$3" ] || fail "$2: $status,$got instead of $1,$3: \
$(jq -c '[.error,.stdout,.stderr]' "$tmp/result") $(cat "$tmp/stderr")"
}
of='[.reason, .exit.code, .exit.signal_name, .limits_hit]'

# What the first run needs is an image of ours, which is made and not fetched.  It cannot be observed.
MENACE_BPF_DIR=$tmp "$MENACE_RUN" --backend docker -o "$tmp/result" -- sh -c 'cat; echo err >&2; exit 3' \
	<<<input >"$tmp/stdout" 2>"$tmp/stderr"
status=$?
is 3 "$of" '["exited",3,null,[]]'
is 3 '[.stdout.text, .stderr.text]' '["input\n","err\n"]'
is 3 '[.receipt.backend.name, .receipt.backend.why]' '["docker","asked for by name"]'
is 3 '[.receipt.backend.losses[].item]' \
	'["usage","denials","receipt","time_namespace","exit_status","oom","surroundings","reader","telemetry","landlock","disk","net_none"]'
is 3 '[.telemetry.level, .telemetry.reason, .denials.total]' \
	"[null,\"MENACE_BPF_DIR: $tmp is no bpf file system\",null]"
is 3 '.receipt.cgroup.limits|map_values(.value)' \
	'{"memory_and_swap_max_bytes":536870912,"memory_max_bytes":536870912,"pids_max":513}'
[ "$(cat "$tmp/stdout")" = input ] || fail "output is not passed on: $(cat "$tmp/stdout")"
grep -qx 'menace-run: backend docker (asked for by name); lost: usage, denials, receipt, time_namespace, exit_status, oom, surroundings, reader, perhaps telemetry, landlock, disk, net_none' \
	"$tmp/stderr" || fail "the choice is not told: $(cat "$tmp/stderr")"

here -- sh -c 'kill -TERM $$'
is 143 "$of" '["signaled",null,"TERM",[]]'
here --timeout 1 -- sleep 60
is 124 "$of" '["wall_timeout",null,"KILL",["wall"]]'
here --memory 32Mi -- python3 -c 'x = bytearray(200 << 20)'
is 137 "$of" '["oom",null,"KILL",["memory"]]'
here --output-limit 100k --set output.head_bytes=4 --set output.tail_bytes=4 -- yes
is 137 '[.reason, .limits_hit, .stdout.head, .stdout.truncated]' '["output_limit",["output"],"y\ny\n",true]'
here --cpu-time 300ms -- sh -c 'while :; do :; done'
is 137 "$of" '["cpu_limit",null,"KILL",["cpu_time"]]'
# Also one that would end by itself: an engine with the API 1.41 is asked ten times a second.
here --cpu-time 300ms --timeout 60 -- python3 -c '
import time
while time.process_time() < 2:
    pass'
is 137 "$of" '["cpu_limit",null,"KILL",["cpu_time"]]'
is 137 '[.receipt.backend.losses[].item]|map(select(. == "cpu_time" or . == "swap"))' '["cpu_time"]'
here --memory unlimited -- true
is 0 '[.receipt.backend.losses[].item]|map(select(. == "cpu_time" or . == "swap"))' '["swap"]'
here -- no-such-program
is 127 '[.reason, .exit.code, .stderr.text]' \
	'["exited",127,"menace-init: no-such-program: not found in the sandbox\n"]'

# Rights and places.
here --disk 1Mi --pids 20 --env A=b --lang sh -c 'umask 0
	grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status | tr -s "\t\n" "  "; echo
	ls /sys /proc/sys/kernel >/dev/null && (echo x >/proc/sys/kernel/hostname) 2>/dev/null && echo BAD
	touch /usr/x /x 2>/dev/null && echo BAD
	mount -t tmpfs x /tmp 2>/dev/null && echo BAD
	unshare -U true 2>/dev/null && echo BAD
	dd if=/dev/zero of=/work/f bs=64k count=32 2>/dev/null && echo BAD
	test -S /var/run/docker.sock && echo BAD
	ulimit -n; pwd; echo $A; id -un; stat -c %a /tmp; tail -n +3 /proc/net/route | wc -l
	python3 -c "import socket; s = socket.socket(); print(s.connect_ex((\"10.0.0.1\", 1)))"
	exit 0'
is 0 .stdout.text "$(jq -n --arg t 'CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 
1024
/work
b
sandbox
1777
0
101
' '$t')"

# What it cannot do it refuses before anything is made, and is not done otherwise.
here --net stub -- true
is 125 .error.message '"backend docker: does not do net.mode=stub"'
here --image no-such-image -- true
is 125 .error.message '"image no-such-image: the engine does not have it; --pull lets it be fetched"'
here --cpus 64 --memory 1Mi -- true
[ "$status" -eq 125 ] && jq -e '.error.message|test("Minimum memory limit allowed is 6MB")' "$tmp/result" >/dev/null ||
	fail "a limit that the engine refuses: $(jq -c .error "$tmp/result")"

# Held: the start of the container waits; an interrupt ends it, and so does the end of who could give the word.
mkfifo "$tmp/ready" "$tmp/go" || fail "no fifos"
exec 5<>"$tmp/ready" 6<>"$tmp/go"
exec 7<"$tmp/go"
for word in go interrupt end; do
	"$MENACE_RUN" -q --backend docker --ready-fd 5 --block-fd 7 -o "$tmp/result" -- echo began >"$tmp/stdout" 2>"$tmp/stderr" 6>&- &
	run=$!
	read -r -t "$(scaled 60)" _ <&5 || fail "$word: not ready: $(cat "$tmp/stderr")"
	[ ! -s "$tmp/stdout" ] || fail "$word: it began"
	case $word in
	go) echo >&6 ;;
	interrupt) kill -TERM "$run" ;;
	end) exec 6>&- ;;
	esac
	wait "$run"
	status=$?
	case $word in
	go) is 0 '[.reason, .stdout.text]' '["exited","began\n"]' ;;
	interrupt) is 143 .reason '"killed_by_user"' ;;
	end) is 125 .error.message '"--block-fd 7: closed by its other side before the program was let go"' ;;
	esac
done
exec 7<&-

# No request waits for a clock: the fastest of some runs has not lost a whole second.
for _ in 1 2 3 4 5; do
	here -- true
	jq '.timings.setup_us + .timings.teardown_us' "$tmp/result"
done >"$tmp/times"
fastest=$(sort -n "$tmp/times" | head -n 1)
[ "$fastest" -lt $((1000000 * MENACE_SLOWDOWN)) ] || fail "the fastest of five runs took $fastest us beside its program"

# Nothing fits the spec natively: auto goes where it can be done, without a word on the bare host.
image=$(engine_get /images/json | jq -r '.[0].Id')
"$MENACE_RUN" --image "$image" -o "$tmp/result" -- /nothing-in-it >/dev/null 2>"$tmp/stderr"
status=$?
is 127 '[.reason, .exit.code, .receipt.backend.name, .receipt.container.image]' "[\"exited\",127,\"docker\",\"$image\"]"
grep -q 'backend docker (does not do sandbox.image)' "$tmp/stderr" || fail "auto: $(cat "$tmp/stderr")"

# begin_sleeper: a run that goes on, in the background; $run, and its program $docker_pid.
begin_sleeper()
{
	local i

	rm -f "$tmp/begun"
	"$MENACE_RUN" -q --backend docker -o "$tmp/result" -- sh -c 'echo begun; exec sleep 1000' >"$tmp/begun" 2>"$tmp/stderr" &
	run=$!
	for ((i = 0; i < 300; i++)); do
		[ -s "$tmp/begun" ] && break
		sleep 0.1
	done
	[ "$(engine_get /containers/json | jq length)" = 1 ] || fail "there is no container"
	docker_pid=$(pgrep -P "$run" -x menace-docker) || fail "there is no menace-docker"
}

# containers_become N: within 30 seconds.
containers_become()
{
	local i

	for ((i = 0; i < 300; i++)); do
		[ "$(engine_containers)" = "$1" ] && return
		sleep 0.1
	done
	fail "not $1 containers: $(engine_get '/containers/json?all=1' | jq -c '.[]|[.Names,.Labels]')"
}

# One that is killed leaves nothing: its keeper sees to it.
begin_sleeper
kill -9 "$docker_pid"
wait "$run"
status=$?
is 125 '[.reason, .error.message]' \
	'["supervisor_lost","menace-docker: was ended by signal 9 (SIGKILL) without a report"]'
containers_become 0

# Where the keeper is killed first the next start does it; what is somebody else's stays.
curl -s --unix-socket "$engine_dir/sock" -H 'Content-Type: application/json' -d "{\"Image\": \"$image\",
	\"Cmd\": [\"x\"], \"Labels\": {\"org.menace.run\": \"01m8hseyza5yjdqtnpbtd34qjc\",
	\"org.menace.lease\": \"another host\"}}" 'http://engine/containers/create?name=foreign' |
	jq -e .Id >/dev/null || fail "no foreign container can be made"
begin_sleeper
kill -9 "$(pgrep -P "$docker_pid" -x menace-keeper)" "$docker_pid"
wait "$run"
[ "$(engine_containers)" = 2 ] || fail "who removed it? $(engine_containers)"
here -- true
is 0 .reason '"exited"'
grep -q 'whose supervisor is dead, is removed' "$tmp/stderr" || fail "the sweep is not told: $(cat "$tmp/stderr")"
containers_become 1
[ "$(engine_get '/containers/json?all=1' | jq -r '.[0].Names[0]')" = /foreign ] || fail "the foreign one is gone"

# menace-run itself is killed: what it started takes back what it made.
begin_sleeper
kill -9 "$run"
wait "$run" 2>/dev/null
containers_become 1

# The engine is killed in the middle: the run says so, in time.
begin_sleeper
kill -9 -- "-$engine_pid"
wait "$run"
status=$?
is 125 '[.reason, .exit.code]' '["supervisor_lost",null]'
