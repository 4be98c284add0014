#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The files of a docker run that was killed go without an engine, by cleanup and by the next start;
# those of a run that lives stay
#
# security

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_program python3 jq setsid
need_cgroups
need_root
with_own_leases
menace=${MENACE:-${MENACE_RUN%/*}/menace}
absent=unix://$tmp/absent/sock

# Folders with the files of a run, all of them written.
folders()
{
	find /run/menace -path '/run/menace/docker-*/snippet/*' -printf '%h\n' | xargs -r -n 1 dirname | sort -u
}

# start ROUND: a run that goes on until it is killed, with an engine of its own; when its files are there.
start()
{
	local before

	mkdir -p "$tmp/$1/ignores-kill"
	python3 "$repo/tests/lib/fake-dockerd.py" "$tmp/$1" ignores-kill &
	at_exit kill $!
	wait_until 30 test -S "$tmp/$1/ignores-kill/sock" || fail "the engine does not start"
	before=$(folders)
	DOCKER_HOST=unix://$tmp/$1/ignores-kill/sock setsid "$MENACE_RUN" -q -t "$(scaled 120)" --backend docker --lang sh \
		-c true </dev/null >/dev/null 2>&1 &
	wait_until 30 is_another "$before" || fail "the run makes no files: $(cat "$tmp/$1/ignores-kill/log")"
	files=$(comm -13 <(echo "$before") <(folders))
}

is_another()
{
	[ "$(folders)" != "$1" ]
}

# What there is of runs; first who would clean up after the others.
processes()
{
	ours menace-keeper
	ours menace-docker
	ours menace-run
}

# kill_all_but PIDS: at any rate without the time to remove anything.
kill_all_but()
{
	wait_until 40 is_nobody_but "$1" || fail "still there: $(processes)"
}

# is_nobody_but PIDS: or else they are killed, with those that one of them has started meanwhile.
is_nobody_but()
{
	processes | grep -vxF "$1" >"$tmp/others" || return 0
	xargs kill -9 <"$tmp/others" 2>/dev/null
	return 1
}

start living
living=$files
# All processes of it are there, which are to stay.
wait_until 40 grep -q '^POST .*/start' "$tmp/living/ignores-kill/log" || fail "the living run does not begin"
pids=$(processes)
at_exit kill_all_but nobody

# gone HOW: the files of the killed run, and no other's.
gone()
{
	[ ! -e "$files" ] || fail "$1 leaves $(find "$files")"
	[ "$(folders)" = "$living" ] || fail "$1: files of the living run: $(folders), not $living"
}

start cleanup
kill_all_but "$pids"
[ -e "$files/snippet" ] || fail "nothing to remove: $(ls /run/menace)"
DOCKER_HOST=$absent "$menace" cleanup --dry-run >"$tmp/stdout" || fail "cleanup --dry-run: $?"
grep -qx '1 leases of dead supervisors, with their control groups and files, would be removed' "$tmp/stdout" ||
	fail "$(cat "$tmp/stdout")"
[ -e "$files/snippet" ] || fail "a dry run removes"
DOCKER_HOST=$absent "$menace" cleanup >"$tmp/stdout" || fail "cleanup: $?"
gone "menace cleanup"
grep -qx '1 leases of dead supervisors, with their control groups and files, removed' "$tmp/stdout" ||
	fail "$(cat "$tmp/stdout")"
grep -q '^containers were not looked for, and what prepared ones need stays: .*/absent/sock' "$tmp/stdout" ||
	fail "it does not say what is kept: $(cat "$tmp/stdout")"

start native
kill_all_but "$pids"
[ -e "$files/snippet" ] || fail "nothing to remove: $(ls /run/menace)"
"$MENACE_RUN" -q -- true || fail "a native run: $?"
gone "the next native run"

start docker
kill_all_but "$pids"
[ -e "$files/snippet" ] || fail "nothing to remove: $(ls /run/menace)"
DOCKER_HOST=$absent "$MENACE_RUN" -q --backend docker -- true 2>"$tmp/stderr"
[ "$?" = 125 ] || fail "a docker run without an engine: $(cat "$tmp/stderr")"
gone "the next docker run"
