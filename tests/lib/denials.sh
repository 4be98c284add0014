# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests of menace-netd share; sourced by outside.sh and mocks.sh
#
# Whoever is denied something by menace-netd waits a second or two until the supervisor has looked for
# him, which has a share of each second on the clock for that.  On a machine that others keep busy it
# may come too late, and says so.

# 0: each process that was denied something was looked for in time.
all_were_looked_for()
{
	[ "$(json '[.denials.rows[].reason // "" | select(test("too much to look|than there was time to look|its socket was closed"))]
		| length')" -eq 0 ]
}

# Its init is waited for by then: menace-netd is the only child left.
run_has_ended()
{
	[ ! -d "/proc/$init" ]
}

# ask_last BEFORE LAST OPTION...: a run whose bash does LAST while menace-netd gets no processor, which it does again when
# the program has ended.  1: this test stood still, too, for longer than a run waits for menace-netd at its end.
ask_last()
{
	local supervisor netd

	mkdir -p "$tmp/out"
	chmod 777 "$tmp/out"
	rm -f "$tmp/out/go" "$tmp/out/started"
	mkfifo -m 666 "$tmp/out/go"
	"$MENACE_RUN" -q -t "$(scaled 60)" -o "$result" --rw "$tmp/out:/out" "${@:3}" -- \
		bash -c "$1; : >/out/started; read -r x </out/go; $2" >"$tmp/stdout" 2>"$tmp/stderr" &
	supervisor=$!
	wait_until 30 test -e "$tmp/out/started" || fail "the program does not start: $(cat "$tmp/stderr")"
	netd=$(pgrep -P "$supervisor" -x menace-netd) || fail "no menace-netd below $supervisor"
	init=$(pgrep -P "$supervisor" | grep -vx "$netd")
	kill -STOP "$netd"
	echo >"$tmp/out/go"
	wait_until 30 run_has_ended || fail "the program does not end"
	kill -CONT "$netd"
	wait "$supervisor"
	assert_eq $? 0 "exit status"
	[ "$(json '[.receipt.degraded[].item] | index("network-record")')" = null ]
}
