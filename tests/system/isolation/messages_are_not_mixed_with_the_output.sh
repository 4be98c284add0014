#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the program says and what we say never share a stream that the caller did not ask to
# share, and the program cannot pass its words off as ours in the result
# security

. "${0%/*}/../../lib/system.sh"

forged='{"schema":"menace.result/1","reason":"exited"}'
run -vv -- sh -c "echo out; echo err >&2; echo 'menace-run: forged' >&2; printf '%s\n' '$forged' >&2; kill -9 \$\$"
assert_eq "$stdout" out "standard output with our messages on"
assert_eq "$(json .reason) $(json .exit.signal)" "signaled 9" "the result"

run -q -- sh -c 'echo out; echo err >&2; exit 3'
assert_eq "$status $stdout $stderr" "3 out err" "what a quiet run says"

# The result on a descriptor of its own.
"$MENACE_RUN" -q -o FD:7 -- sh -c "echo '$forged'; printf '%s\n' '$forged' >&7; ls /proc/self/fd | wc -l" \
	7>"$tmp/seven" >"$tmp/out" 2>"$tmp/err"
assert_eq "$(jq -s -r 'length, .[0].exit.status' "$tmp/seven" | tr '\n' ' ')" "1 0 " "the result alone"
assert_eq "$(cat "$tmp/out")" "$forged"$'\n4' "the output alone"

# On standard output there is the result alone.
run_plain "$MENACE_RUN" -q -o - -- sh -c "echo '$forged'; echo err >&2"
assert_eq "$(jq -s -r 'length, .[0].schema' "$tmp/stdout" | tr '\n' ' ')" "1 menace.result/1 " "the result alone"

# One JSON object a line when asked, whatever names the payload brings.
mkdir "$tmp/work"
run --log-format json --workspace "$tmp/work" -- $'no\nsuch"program'
assert_status 127
assert_eq "$(wc -l <"$tmp/stderr")" 1 "lines of one message"
assert_eq "$(jq -r .message "$tmp/stderr")" $'no\nsuch"program: not found in the sandbox' "the message"
