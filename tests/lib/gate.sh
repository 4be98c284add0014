# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A gate in the programs of workflows and matrices, so that a test stops one in the middle and not about then;
# after system.sh and store.sh
#
# use_gate, after check_leaks: sets $gate, a folder that every run of $MENACE has as /gate from now on; $MENACE
# becomes a copy beside a menace-run that adds it.  A program that says "sh /gate/pass" passes the gate: it takes
# the next number, and waits there for ever if that is over what close_gate has said.
use_gate()
{
	gate=$tmp/gate
	mkdir "$gate" "$tmp/gated" && mkfifo -m 666 "$gate/wait" || fail "no gate"
	cat >"$gate/pass" <<-'END'
		read -r last </gate/last
		[ "$last" != open ] || exit 0
		i=1
		until mkdir "/gate/came/$i" 2>/dev/null; do
			i=$((i + 1))
		done
		[ "$i" -le "$last" ] || read -r _ </gate/wait
	END
	install -m 755 "$MENACE" "$tmp/gated/menace" || fail "cannot copy $MENACE"
	printf '#!/bin/sh\nexec %q --rw %q "$@"\n' "$MENACE_RUN" "$gate:/gate" >"$tmp/gated/menace-run"
	chmod 755 "$tmp" "$tmp/gated/menace-run"
	MENACE=$tmp/gated/menace
	open_gate
}

# close_gate N: the next N programs pass, and no other.
close_gate()
{
	rm -rf "$gate/came"
	mkdir -m 777 "$gate/came"
	echo "$1" >"$gate/last"
}

# open_gate: for those that come; who waits stays there.
open_gate()
{
	echo open >"$gate/last"
}

# let_go N: those that wait go on, N of them.
let_go()
{
	[ -n "${gate_fd-}" ] || exec {gate_fd}<>"$gate/wait"
	printf '\n%.0s' $(seq "$1") >&"$gate_fd"
}

# is_waiting N: N programs have passed or are at the gate.
is_waiting()
{
	[ -e "$gate/came/$1" ]
}

# kill_all PID: it and all that it has started, without a warning; none of them is left.
kill_all()
{
	local pids=()

	descendants "$1"
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	wait_until 50 are_over "${pids[@]}" || fail "what $1 has started lives"
}

# descendants PID: added to pids.
descendants()
{
	local child children

	read -r -a children 2>/dev/null <"/proc/$1/task/$1/children" || true
	for child in "${children[@]}"; do
		pids+=("$child")
		descendants "$child"
	done
}

are_over()
{
	local pid

	for pid; do
		[ ! -e "/proc/$pid" ] || return 1
	done
}
