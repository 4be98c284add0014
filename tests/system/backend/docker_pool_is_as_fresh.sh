#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run in a prepared container shows what one in a new container shows, and each is used once
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_program jq unshare
need_system_program python3
with_own_leases
start_engine
menace=${MENACE:-${MENACE_RUN%/*}/menace}

# run_in FILE ARGUMENT...: its result in $tmp/FILE.
run_in()
{
	local file=$1

	shift
	"$MENACE_RUN" -q --backend docker -o "$tmp/$file" "$@" >"$tmp/$file.out" 2>"$tmp/$file.err"
	echo $? >"$tmp/$file.status"
}

shown='[.reason, .exit, .limits_hit, .stdout, .stderr, (.receipt|del(.container, .identity.host_uid, .identity.host_gid))]'

nobody_prepares()
{
	[ -z "$(ours menace-filler)" ]
}

# pooled ARGUMENT...: in a prepared container; those that come first only have one prepared.
pooled()
{
	local i

	for ((i = 0; i < 100; i++)); do
		run_in pooled --pool 1 "$@"
		case $(gojq -r .receipt.container.pool "$tmp/pooled") in
		used) return ;;
		'none was ready') sleep 0.1 && wait_until 30 nobody_prepares ;;
		*) break ;;
		esac
	done
	fail "$*: $(jq -c '[.receipt.container, .error]' "$tmp/pooled") $("$menace" pool status --json)"
}

# same ARGUMENT...: in both.
same()
{
	local part id

	run_in fresh "$@"
	[ "$("$menace" pool status --json | gojq '.containers|length')" -lt 8 ] || "$menace" pool drain >/dev/null
	pooled "$@"
	for part in '' .out .err .status; do
		if [ -z "$part" ]; then
			diff <(gojq "$shown" "$tmp/fresh") <(gojq "$shown" "$tmp/pooled")
		else
			diff "$tmp/fresh$part" "$tmp/pooled$part"
		fi || fail "$*: differ$part"
	done
	id=$(gojq -r .receipt.container.id "$tmp/pooled")
	[[ $seen != *" $id "* ]] || fail "container $id is used twice"
	seen+=" $id "
}
seen=' '

# What is asked for and cannot be had is said, and is no failure.
run_in none --pool 1 -- true
[ "$(jq -r .receipt.container.pool "$tmp/none")" = 'none was ready' ] || fail "the first: $(jq -c .receipt.container "$tmp/none")"
run_in none -- true
[ "$(jq .receipt.container.pool "$tmp/none")" = null ] || fail "without --pool: $(jq -c .receipt.container "$tmp/none")"

same -- sh -c 'echo out; echo err >&2; exit 3'
same -- sh -c 'kill -SEGV $$'
same -- no-such-program
same --set sandbox.cwd=/nowhere -- true
same --timeout 500ms -- sleep 60
same --env A=b --env HOSTNAME= --env 'C=a b' -- sh -c 'env | sort'
same --env A=b --hostname other -- sh -c 'hostname; cat /etc/hosts; cut -d : -f 1 /etc/passwd /etc/group; id -un; pwd; umask; ulimit -a'
same -- sh -c 'ls -a / /run /run/snippet /etc /work /tmp; grep -c . /proc/self/mounts; cut -d " " -f 2-3 /proc/self/mounts | sort'
same -- sh -c 'test ! -e /tmp/x && test ! -e /work/x && touch /tmp/x /work/x && echo fresh'
same -- sh -c 'grep -E "^(Cap|NoNewPrivs|Seccomp|Sig|Shd)" /proc/self/status; readlink /proc/self/fd/0 | cut -c 1-5'
same -- python3 -c 'import os, sys; print(sorted(os.listdir("/proc/self/fd")), os.getpid() == os.getpgrp(), os.getsid(0), os.getppid())'
same --lang sh --code 'ls /run/snippet; exit 4'

# Limits that are changed, those that cannot be, and what comes of them.
same --memory 32Mi -- python3 -c 'x = bytearray(200 << 20)'
same --pids 5 --memory 64Mi --cpus 0.5 -- python3 -c 'import threading, time
n = 0
try:
    while n < 9: threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); n += 1
except RuntimeError: pass
print(n)'
same --pids unlimited --memory unlimited -- true
same --disk 1Mi --level 2 -- sh -c 'dd if=/dev/zero of=/work/f bs=64k count=32 2>&1 | grep -o "No space.*"'

# Input: all of it and its end, however long it is and whoever does not read it.
"$menace" pool drain >/dev/null
"$MENACE_RUN" -q --backend docker --pool 1 -o "$tmp/result" -- true
for n in 0 1 70000 3000000; do
	for pool in 0 1; do
		[ "$pool" = 0 ] || pool_has 1
		head -c "$n" /dev/zero | "$MENACE_RUN" -q --backend docker --pool "$pool" -o "$tmp/result" -- wc -c >"$tmp/stdout"
		[ "$(cat "$tmp/stdout")" = "$n" ] || fail "$n bytes of input, pool $pool: $(cat "$tmp/stdout")"
	done
done
pool_has 1
yes | "$MENACE_RUN" -q --backend docker --pool 1 -o "$tmp/result" -- true || fail "input that nobody reads"

# Images, too; and by them what a container is prepared for is told apart.
mkdir -p "$tmp/tree/bin"
cp "$MENACE_HELPERS/show-fds" "$tmp/tree/bin/"
"$menace" image build --tag tree:1 "$tmp/tree" >/dev/null || fail "no image"
pooled --image tree:1 -- /bin/show-fds
[ "$(cat "$tmp/pooled.status"),$(cut -d : -f 1 "$tmp/pooled.out" | tr '\n' ,)" = '0,0 pipe pipe,1 pipe pipe,2 pipe pipe,' ] ||
	fail "an image: $(cat "$tmp/pooled.out" "$tmp/pooled.err")"
same --image tree:1 -- /nothing

nobody_cleans_up
drained=$("$menace" pool drain --json | jq .drained)
[ "$drained" -gt 0 ] || fail "nothing was drained"

# What is shown of this host is not known beforehand: no container is prepared for it.
before=$("$menace" pool status --json | gojq '[.containers[].id]|sort')
run_in none --pool 1 --ro "$tmp/tree:/seen" -- ls /seen
[ "$(cat "$tmp/none.out"),$(jq -r .receipt.container.pool "$tmp/none")" = 'bin,what --ro and --rw show is not known beforehand' ] ||
	fail "--ro: $(jq -c '[.receipt.container, .error]' "$tmp/none")"
[ "$("$menace" pool status --json | gojq '[.containers[].id]|sort')" = "$before" ] || fail "one was prepared for --ro"

# Never more than asked for, nor than there may be in all.
"$MENACE_RUN" -q --backend docker --pool 5 --set sandbox.pool_max=4 -o "$tmp/result" -- true || fail "pool_max"
pool_has 4
is_at_its_limit()
{
	[ "$("$menace" pool status --json | jq .counters.limit_reached)" = 1 ]
}
wait_until 20 is_at_its_limit || fail "pool_max is not told: $("$menace" pool status --json)"
[ "$("$menace" pool status --json | jq -c '[(.containers|length), .counters.limit_reached]')" = '[4,1]' ] ||
	fail "pool_max: $("$menace" pool status --json)"
"$MENACE_RUN" -q --backend docker --pool 5 --set sandbox.pool_disk_free_bytes=1Ti --set sandbox.pool_max=50 -o "$tmp/result" -- true ||
	fail "disk"
disk_is_full()
{
	[ "$("$menace" pool status --json | jq .counters.disk_full)" = 1 ]
}
wait_until 20 disk_is_full || fail "disk: $("$menace" pool status --json)"
[ "$("$menace" pool status --json | jq -c '[.counters.disk_full, .counters.unfit, .counters.failures]')" = '[1,null,null]' ] ||
	fail "disk: $("$menace" pool status --json)"

nobody_cleans_up
"$menace" pool drain >/dev/null || fail "drain"
nothing_is_left
