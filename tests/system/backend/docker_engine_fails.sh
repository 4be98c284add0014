#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever an engine does, a run ends in time, says what is wrong, and leaves nothing
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_program python3 jq
[ "$(id -u)" -ne 0 ] || with_own_leases

leases=/run/menace
[ "$(id -u)" -eq 0 ] || leases=${XDG_RUNTIME_DIR:-/tmp}/menace

# start FAULT [ARGUMENT...]: a run with such an engine, in the background; with FAULT-auto one that nobody else can
# do, and that asks for no backend by name.
start()
{
	local fault=$1 dir=$tmp/$1 backend=(--backend docker)

	[[ $fault != *-auto ]] || backend=(--image x)
	shift
	(
		DOCKER_HOST=unix://$dir/sock "$MENACE_RUN" -q "${backend[@]}" -o "$dir/result" "$@" \
			-- true </dev/null >"$dir/stdout" 2>"$dir/stderr"
		echo $? >"$dir/status"
	) &
	runs+=($!)
}

# ends FAULT STATUS REASON [MESSAGE]: with these, and the container was removed.
ends()
{
	local dir=$tmp/$1 got

	got=$(cat "$dir/status"),$(jq -r '.reason + "," + (.error.message // "")' "$dir/result")
	[[ $got == $2,$3,${4:-} ]] || fail "$1: $got
instead of $2,$3,${4:-}
$(cat "$dir/stderr" "$dir/log")"
	! grep -q unexpected "$dir/log" || fail "$1: $(grep unexpected "$dir/log")"
}

removes()
{
	local fault

	for fault; do
		grep -q '^DELETE /v1.4[01]/containers/menace-.*force=1' "$tmp/$fault/log" ||
			fail "$fault: the container is not removed: $(cat "$tmp/$fault/log")"
	done
}

faults=(keeps silent hangs-at-kill ignores-kill none slow garbage 500 dies-at-create dies half-frame
	bad-frame system-error endless uncounted no-list warns lies huge wait-garbage answers-nothing
	answers-wrongly ends-unasked ends-unordered oom
	hangs-at-kill-auto no-version uncounted-auto)
for fault in "${faults[@]}"; do
	mkdir "$tmp/$fault"
done
python3 "$repo/tests/lib/fake-dockerd.py" "$tmp" "${faults[@]}" &
at_exit kill $!
for ((i = 0; i < 1500; i++)); do
	[ -S "$tmp/uncounted-auto/sock" ] && break
	sleep 0.02
done
[ -S "$tmp/uncounted-auto/sock" ] || fail "the engines do not start"

# Folders of files for containers.
folders()
{
	find "$leases" -maxdepth 1 -name 'docker-*' | sort
}

before=$(folders)
runs=()
# These take 10 seconds each: all at once.
for fault in "${faults[@]}"; do
	case $fault in
	hangs-at-kill* | ignores-kill) start "$fault" --timeout 1 ;;
	uncounted*) start "$fault" --cpu-time 20 --timeout 25 ;;
	endless) start endless --output-limit 1Mi --set output.head_bytes=10 --set output.tail_bytes=20 ;;
	*) start "$fault" ;;
	esac
done
DOCKER_HOST=unix:///nowhere/sock "$MENACE_RUN" -q --backend docker -o "$tmp/absent" -- true 2>/dev/null
for run in "${runs[@]}"; do
	wait "$run"
done

no='*: no answer of the Docker Engine at unix://*'
ends none 7 exited
ends slow 7 exited
ends silent 125 setup_error "GET /version$no"
ends garbage 125 setup_error 'GET /version: no answer of the Docker Engine at unix://*'
ends 500 125 setup_error 'the engine refuses GET /version: 500 out of disk'
ends no-version 125 setup_error "the engine's answer has no ApiVersion such as 1.41"
ends dies-at-create 125 setup_error "POST /containers/create$no"
ends dies 125 supervisor_lost "POST /containers/*/wait$no"
ends half-frame 125 supervisor_lost "the engine's output stream ends within a frame"
ends bad-frame 125 supervisor_lost "the engine's output stream has a frame that begins with 6e6f2066"
ends system-error 7 exited
ends endless 137 output_limit
ends warns 125 setup_error 'the engine would leave something out: No swap limit support'
ends lies 125 setup_error 'the engine does not show HostConfig.Memory as it was asked for'
ends huge 125 setup_error "GET /images/*/json: the engine's answer has more than 8388608 bytes"
ends wait-garbage 125 supervisor_lost "the engine's answer has no StatusCode from 0 to 255"
ends hangs-at-kill 125 supervisor_lost 'the engine has not ended the container 10000 ms after it was told to'
ends ignores-kill 125 supervisor_lost 'the engine has not ended the container 10000 ms after it was told to'
ends uncounted 125 supervisor_lost 'the engine tells no CPU time, which is to be limited'
# What has begun is not begun again elsewhere, nor told as if it had not.
ends hangs-at-kill-auto 125 supervisor_lost 'the engine has not ended the container 10000 ms after it was told to'
ends uncounted-auto 125 supervisor_lost 'the engine tells no CPU time, which is to be limited'
[ "$(jq -r .error.code "$tmp/uncounted-auto/result")" = proto ] || fail "uncounted-auto: $(jq -c .error "$tmp/uncounted-auto/result")"
ends answers-nothing 125 setup_error 'the container has not answered within 10000 ms'
ends answers-wrongly 125 setup_error 'the container does not answer as menace-init does'
ends ends-unasked 125 setup_error 'the container ended before it took the run'
ends ends-unordered 125 setup_error 'the container ended before it took the run'
ends no-list 125 setup_error "containers: the engine's answer is no list of them"
ends oom 137 oom
ends keeps 7 exited
removes none slow half-frame bad-frame system-error endless uncounted warns lies wait-garbage hangs-at-kill \
	ignores-kill hangs-at-kill-auto uncounted-auto answers-nothing answers-wrongly ends-unasked ends-unordered oom keeps
! grep -q . "$tmp/system-error/stdout" || fail "the engine's words are the program's output"
[[ $(jq -r '.error.code + "," + .error.message' "$tmp/absent") == "kernel,GET /version: no \
answer of the Docker Engine at unix:///nowhere/sock: No such file or directory" ]] ||
	fail "no engine: $(jq -c .error "$tmp/absent")"

# refuses HOST STATUS MESSAGE: such a DOCKER_HOST.
refuses()
{
	local got

	got=$(DOCKER_HOST=$1 "$MENACE_RUN" -q --backend docker --image x -o - -- true 2>/dev/null |
		jq -r '(.exit.status|tostring) + "," + .error.message')
	[[ $got == $2,$3 ]] || fail "DOCKER_HOST=$1: $got"
}
refuses tcp://192.0.2.1:2375 2 'DOCKER_HOST=tcp://192.0.2.1:2375 without DOCKER_TLS_VERIFY: *; accepted without TLS: the loopback'
refuses tcp://localhost:1 125 'GET /version: no answer of the Docker Engine at tcp://localhost:1: *'
refuses $'unix:///\xff' 2 'DOCKER_HOST is not UTF-8; accepted: unix:///PATH and tcp://HOST:PORT'
refuses ssh://host 2 'DOCKER_HOST=ssh://host; accepted: unix:///PATH and tcp://HOST:PORT'
refuses tcp://127.0.0.1:1 125 'GET /version: no answer of the Docker Engine at tcp://127.0.0.1:1: *'

# What an engine says goes to no terminal as it is.
DOCKER_HOST=unix://$tmp/none/sock "${MENACE:-${MENACE_RUN%/*}/menace}" image list >"$tmp/list" || fail "image list: $?"
! grep -qP '[\x00-\x09\x0b-\x1f]|\xc2[\x80-\x9f]' "$tmp/list" || fail "image list: $(cat -v "$tmp/list")"
grep -q '1.0 MiB' "$tmp/list" || fail "image list: $(cat -v "$tmp/list")"

# Both channels, each by itself, and the beginning and the end of what is too long.
[ "$(jq -c '[.stdout.text,.stderr.text]' "$tmp/none/result")" = '["out","err"]' ] || fail "none: output"
[ "$(cat "$tmp/none/stdout")" = out ] || fail "none: what was passed on"
[ "$(jq -c '[.stdout.truncated, .stdout.bytes > 1048576, .stdout.bytes < 100000000, (.stdout.head|length), (.stdout.tail|length)]' \
	"$tmp/endless/result")" = '[true,true,true,10,20]' ] || fail "endless: $(jq -c .stdout "$tmp/endless/result")"

# Who kept what is not removed tries for a while, and then there is nothing of ours but the lease.
nobody_cleans_up
after=$(comm -13 <(echo "$before") <(folders))
[ -z "$after" ] || fail "left: $after"
