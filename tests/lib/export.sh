# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of exports share; after system.sh and store.sh

# Runs of several kinds: ended well, ended by a signal, out of memory, denied, with hostile names.
make_runs()
{
	local options=(-q -t "$(scaled 60)")

	mkdir "$tmp/work"
	"$MENACE_RUN" "${options[@]}" -- true
	"$MENACE_RUN" "${options[@]}" -- sh -c 'echo out; exit 4' >"$tmp/ignored"
	"$MENACE_RUN" "${options[@]}" -- sh -c 'kill -SEGV $$'
	"$MENACE_RUN" "${options[@]}" --set limits.memory_max_bytes=32Mi --lang python \
		-c 'b = bytearray(100000000)' 2>"$tmp/ignored"
	"$MENACE_RUN" "${options[@]}" -- mount -t tmpfs none /mnt 2>"$tmp/ignored"
	# Names with a newline, an escape sequence, quotes, bars, "=", bytes that are not UTF-8, C1 controls.
	"$MENACE_RUN" "${options[@]}" --workspace "$tmp/work" -- sh -c \
		'echo a >"$1"; echo b >"$2"; echo c >"$3"' $'\n|=\\"' $'a\nCEF:0|x=\e[31m"\\' $'\xff\xfe' \
		$'\u009b31m\u202e'
}

# start_receiver [OPTION...]: sets $url and $received (a folder with N.json).
start_receiver()
{
	need_program python3
	received=$(mktemp -d "$tmp/received.XXXXXX")
	coproc RECEIVER { exec python3 "$repo/tests/lib/otlp-receiver.py" "$received" "$@"; }
	# shellcheck disable=SC2034 # of the tests
	receiver=$RECEIVER_PID
	wait_until 20 test -s "$received/port" || fail "the receiver does not start"
	url=http://127.0.0.1:$(<"$received/port")
}

# stop_receiver: it ends with its standard input.
stop_receiver()
{
	eval "exec ${RECEIVER[1]}>&-"
	wait "$receiver"
}

count_requests()
{
	find "$received" -name '*.json' | wc -l
}
