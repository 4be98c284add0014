#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The whole message of refused values: item, value, what is accepted
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

# says "MESSAGE" ARG...
says()
{
	local message=$1
	shift
	run_plain "$MENACE_RUN" "$@"
	assert_refused
	assert_eq "$stderr" "menace-run: $message" "message"
}

says 'unknown option --memroy; did you mean --memory?' --memroy 5 -- true
says 'unknown option --timeuot; did you mean --timeout?' --timeuot=5 -- true
says 'unknown option --xyzzyxyzzy; see --help' --xyzzyxyzzy -- true
says 'unknown option -Z; see --help' -Z
says '--memory needs a value: SIZE' --memory
says '-t (--timeout) needs a value: TIME' -t
says '-t (--timeout): "xx" is not a time: it is not a number; accepted: a number of seconds, or with a unit ms, s, m, h, d or w, as in 1.5, 500ms or 2m' -t xx true
says '--tty takes no value' --tty=yes -- true
run_plain "$MENACE_RUN" --hostname "$(printf "x%.0s" {1..65})" -- true
assert_refused --hostname "65 bytes" "at most 64"
says '-j (--jobs): only with --batch' -j 2 -- true
says '--batch reads specs from standard input; a program is not accepted beside it' --batch -- true
says '--log-format: unknown value "xml"; accepted: text, json' --log-format xml -- true
says '-j (--jobs): unknown value "65"; accepted: 1 to 64' --batch -j 65

run_plain "$MENACE_RUN" --set limits.pid_max=5 -- true
assert_refused limits.pid_max pids_max
run_plain "$MENACE_RUN" --set limit.pids_max=5 -- true
assert_refused limit. limits
run_plain "$MENACE_RUN" -p '{"MEMORY_LIMTI": "1g"}' -- true
assert_refused MEMORY_LIMTI MEMORY_LIMIT
says '-p (--preset): an empty list where an object is expected' -p '[]' -- true
says '-p (--preset): a string where an object is expected' -p '"x"' -- true
says '-p (--preset): a number where an object is expected' -p 5 -- true
run_plain "$MENACE_RUN" -p tinny -- true
assert_refused tinny tiny
run_plain "$MENACE_RUN" --lang pythn -c 1
assert_refused pythn python
run_plain "$MENACE_RUN" --best-effort landlok -- true
assert_refused landlok landlock
run_plain "$MENACE_RUN" --net nome -- true
assert_refused --net nome none loopback allowlist host
run_plain "$MENACE_RUN" --level 6 -- true
assert_refused --level 6 1 5
run_plain "$MENACE_RUN" --level 1 -- true
assert_refused '--level: level 1' --unsafe
run_plain "$MENACE_RUN"
assert_refused program
for size in '"":is empty' '"-1":is negative' '"nan":is not a number'; do
	value=${size%%:*}
	value=${value//\"/}
	says "--tmpfs: ${size%%:*} is not a size: it ${size#*:}; accepted: a number of bytes, or with a unit b, k, m, g or t (also kb, ki, kib; powers of 1024), as in 512Mi or 1.5g" \
		--tmpfs "/x:$value" -- true
done
