#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The exit status is the program's own, or tells what else ended the run; the
# result's reason tells them apart where they look alike
#

. "${0%/*}/../../lib/system.sh"

need_root

for code in 0 1 2 77 124 125 126 127 137 255; do
	run -q -- sh -c "exit $code"
	assert_status $code
	assert_reason exited
	assert_eq "$(json .exit.code)" $code "code"
	assert_eq "$(json .exit.signal)" null "signal"
done

for signal in 1:HUP 2:INT 6:ABRT 8:FPE 9:KILL 11:SEGV 13:PIPE 15:TERM; do
	number=${signal%:*}
	run -q -- sh -c "kill -$number \$\$"
	assert_status $((128 + number))
	assert_reason signaled
	assert_eq "$(json '[.exit.signal, .exit.signal_name, .exit.code] | @csv')" \
		"$number,\"${signal#*:}\"," "exit"
done

run -t 0.2 -- sleep 100
assert_status 124
assert_reason wall_timeout
assert_match "$stderr" 'wall_timeout after [0-9]+\.[0-9]+ s'

run -- /nonexistent/program
assert_status 127
assert_reason setup_error
assert_eq "$(json .error.code)" noent "error"
assert_contains "$stderr" "/nonexistent/program"

run -- no-such-program
assert_status 127
assert_contains "$stderr" "no-such-program"

run -- /usr/bin
assert_status 126
assert_eq "$(json .error.code)" noexec "error"

run -- /etc/passwd
assert_status 126

# Nothing behind it, so 125: the result cannot be written, the program ran.
run_plain "$MENACE_RUN" -q -o /dev/full -- echo ran
assert_status 125
assert_eq "$stdout" ran
assert_contains "$stderr" "the result cannot be written: No space left on device"
run_plain "$MENACE_RUN" -q -o /dev/full -- sh -c 'exit 3'
assert_status 3
