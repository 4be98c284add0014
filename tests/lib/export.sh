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

# start_receiver [OPTION...]: see otlp-receiver.py; sets $url and $received (a folder with its requests).
start_receiver()
{
	need_program python3
	received=$(mktemp -d "$tmp/received.XXXXXX")
	coproc RECEIVER { exec python3 "$repo/tests/lib/otlp-receiver.py" "$received" "$@"; }
	receiver=$RECEIVER_PID
	wait_until 30 test -s "$received/port" || fail "the receiver does not start"
	# shellcheck disable=SC2034 # of the tests
	url=http://127.0.0.1:$(<"$received/port")
}

# stop_receiver: it ends with its standard input.
stop_receiver()
{
	eval "exec ${RECEIVER[1]}>&-"
	wait "$receiver"
}

# count_requests BEHAVIOUR
count_requests()
{
	find "$received" -name "$1.*.json" | wc -l
}

# put_record RUN_ID [ARGUMENT_BYTES]: a record with rows of every table and hostile names.
put_record()
{
	need_program python3
	python3 "$repo/tests/lib/make-record.py" "$store.spool" "$@" || fail "cannot make a record"
}

# Three of them: one with connections, one with the longest argument that execve(2) takes.
put_records()
{
	put_record 01m8grcbq84h03083qe5vt6fsc
	put_record 01m8grcbq84h03083qe5vt6fse 131071
	put_record 01m8grcbq84h03083qe5vt6fs0
}

# An export came to its end and had all records: what it could not take in, it only tells.
assert_exported()
{
	assert_status 0
	assert_eq "$stderr" "" "what the export says"
}

# check FORMAT [ARGUMENT...]: the checker of this format on $tmp/stdout; sets $checked.
check()
{
	checked=$(python3 "$repo/tests/lib/check-$1.py" "${@:2}" <"$tmp/stdout" 2>&1) ||
		fail "not $1: $checked"
}

# Nothing that a terminal would act on, and one line an event.
assert_harmless()
{
	! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f]' "$tmp/stdout" ||
		fail "control characters in $last_command"
}
