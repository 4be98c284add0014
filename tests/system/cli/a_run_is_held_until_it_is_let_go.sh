#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --ready-fd tells when the program could begin and --block-fd holds it until then: no time of its own passes, its
# input is its own, and a caller who interrupts it, goes away or is killed has it never begin
#
# security

. "${0%/*}/../../lib/system.sh"
need_program jq
[ "$host_cgroups" = none ] || [ "$EUID" -ne 0 ] || check_leaks

mkfifo "$tmp/ready" "$tmp/go" || fail "no fifos"
# Of both ends: opening waits for nobody.
exec 5<>"$tmp/ready" 6<>"$tmp/go"

# hold COMMAND...: begin it; it is ready when this returns.
hold()
{
	local word

	"$@" <&0 >"$tmp/stdout" 2>"$tmp/stderr" &
	held=$!
	read -r -t "$(scaled 60)" word <&5 || fail "it is not ready: $(<"$tmp/stderr")"
	[ -z "$word" ] || fail "not one empty line: $word"
}

# ended: sets status.
ended()
{
	status=0
	{ wait "$held" || status=$?; } 2>"$tmp/killed" # the shell tells of a signal
}

hold "$MENACE_RUN" -q -t "$(scaled 50)" --ready-fd 5 --block-fd 6 -o "$result" -- sh -c 'echo began; cat' < <(echo input)
[ ! -s "$tmp/stdout" ] || fail "it began: $(<"$tmp/stdout")"
echo >&6
ended
assert_eq "$status:$(<"$tmp/stdout")" $'0:began\ninput'
assert_ge "$(json .timings.setup_us)" 1 "time of the set-up"

# The limit is the program's own, which has all of it after it was held for longer: as long as another run has.
hold "$MENACE_RUN" -q -t 0.2 --ready-fd 5 --block-fd 6 -o "$result" -- sleep 60
"$MENACE_RUN" -q -t 0.4 -- sleep 60
assert_eq $? 124 "status of the other one"
kill -0 "$held" || fail "it has ended before it was let go"
echo >&6
ended
assert_eq "$status:$(json .reason)" 124:wall_timeout
assert_ge "$(json .timings.held_us)" 400000 "time it was held"
assert_ge "$(json .usage.wall_us)" 200000 "time of its own"

# Nobody holds a run that is only to tell.
hold "$MENACE_RUN" -q --ready-fd 5 -o "$result" -- echo began
ended
assert_eq "$status:$(<"$tmp/stdout"):$(json .timings.held_us)" 0:began:0
run_plain "$MENACE_RUN" -q --block-fd 6 -- echo began 6< <(echo)
assert_eq "$status:$stdout" 0:began

# An interrupt is no word.
hold "$MENACE_RUN" -q --ready-fd 5 --block-fd 6 -o "$result" -- echo began
kill -TERM "$held"
ended
assert_eq "$status:$(<"$tmp/stdout"):$(json '[.reason, .usage.wall_us, .timings.held_us] | map(tostring) | join(" ")')" \
	"143::killed_by_user null null"

# The program's process can be killed by others before it is the program.
hold "$MENACE_RUN" -q --ready-fd 5 --block-fd 6 -o "$result" -- echo began
read -r init _ <"/proc/$held/task/$held/children"
read -r waiting _ <"/proc/$init/task/$init/children"
kill -KILL "$waiting"
ended
assert_eq "$status:$(<"$tmp/stdout"):$(json '[.reason, .exit.signal, .usage.wall_us] | map(tostring) | join(" ")')" \
	"137::signaled 9 null"

# Nor is the end of who could give it.
mkfifo "$tmp/alone" || fail "no fifo"
exec 7<>"$tmp/alone"
exec 8<"$tmp/alone"
hold "$MENACE_RUN" -q --ready-fd 5 --block-fd 8 -o "$result" -- echo began 7>&-
exec 7>&-
ended
assert_eq "$status:$(<"$tmp/stdout"):$(json .error.message)" \
	"125::--block-fd 8: closed by its other side before the program was let go"
exec 8>&-
# Killed: what it held has not begun, and what is left goes with the next start (check_leaks looks).
hold "$MENACE_RUN" -q --ready-fd 5 --block-fd 6 -- sh -c 'echo began'
read -r init _ <"/proc/$held/task/$held/children"
kill -KILL "$held"
ended
is_over()
{
	[ ! -e "/proc/$init" ]
}
wait_until 50 is_over || fail "its init lives"
assert_eq "$status:$(<"$tmp/stdout")" 137:
run_plain "$MENACE_RUN" -q -- true
assert_status 0

# In a batch it is one byte a run, in order.
printf '{"schema": "menace.spec/1", "program": ["echo", "%s"]}\n' one two >"$tmp/specs"
hold "$MENACE_RUN" -q --batch --ready-fd 5 --block-fd 6 <"$tmp/specs"
[ ! -s "$tmp/stdout" ] || fail "a result before it was let go"
echo >&6
read -r -t "$(scaled 60)" _ <&5 || fail "the second is not ready"
assert_eq "$(gojq -r .stdout.text "$tmp/stdout")" one
echo >&6
ended
assert_eq "$status:$(gojq -j .stdout.text "$tmp/stdout")" $'0:one\ntwo'

# Refused before anything is started.
run_plain "$MENACE_RUN" --block-fd 9 -- true 9<&-
assert_refused "--block-fd 9: that descriptor is not open"
run_plain "$MENACE_RUN" --ready-fd 9 -- true 9</dev/null
assert_refused "--ready-fd 9: that descriptor is not open for writing"
run_plain "$MENACE_RUN" --block-fd 9 -- true 9>/dev/null
assert_refused "--block-fd 9: that descriptor is not open for reading"
run_plain "$MENACE_RUN" --ready-fd 9 --block-fd 9 -- true 9>/dev/null
assert_refused "--block-fd 9: that descriptor is not open for reading"
run_plain "$MENACE_RUN" --block-fd 0 -- true
assert_refused '--block-fd: unknown value "0"; accepted: the number of a descriptor, not 0, 1 or 2'
run_plain "$MENACE_RUN" --block-fd 6 --dry-run -- true
assert_refused "--block-fd: not with --dry-run, where nothing begins"
run_plain "$MENACE_RUN" --ready-fd 5 --batch -j 2
assert_refused "--ready-fd: only with one run at a time, --jobs 1"
# What cannot be waited for, and who is told and does not read.
run_plain "$MENACE_RUN" -q --block-fd 9 -- echo began 9<"$tmp/specs"
assert_eq "$status:$stdout" 125:
assert_contains "$stderr" "--block-fd 9: "
mkfifo "$tmp/full" || fail "no fifo"
exec 9<>"$tmp/full"
head -c 65536 /dev/zero >&9 # all that a pipe takes
run_plain "$MENACE_RUN" -q --ready-fd 9 -- echo began
assert_eq "$status:$stdout" 125:
assert_contains "$stderr" "--ready-fd 9: full, nobody reads what is told there"
