#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a machine's program writes could not be passed on: that is said, and the status is not 0
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"
. "$repo/tests/lib/vm_disk.sh"

need_virtiofsd
check_leaks
fake_kernel
disk answers

said="menace-qemu: what the program writes cannot be passed on: No space left on device; the rest of it is lost"

# full WHAT CODE OPTION...
full()
{
	fake_run "$1" 7 "$2"
	"$MENACE_RUN" -q --backend qemu -o "$result" "${@:3}" -- true >/dev/full 2>"$tmp/stderr"
	status=$?
	assert_eq "$(cat "$tmp/stderr")" "$said" "messages of $1"
}

full pours 0
assert_eq "$status" 125 "exit status"
assert_eq "$(json .reason),$(json .exit.code),$(json .exit.status)" exited,0,125 "result"
full tells 0 --set "sandbox.vm_image=$tmp/answers"
assert_eq "$status" 125 "exit status"
assert_eq "$(json .reason),$(json .exit.code),$(json .exit.status),$(json .stdout.bytes)" exited,0,125,7 "result"

# What the program says of itself is not hidden by it.
full pours 3
assert_eq "$status" 3 "exit status"
assert_eq "$(json .exit.code),$(json .exit.status)" 3,3 "result"

# A reader that is gone wants no more.
fake_run pours 7
"$MENACE_RUN" -q --backend qemu -o "$result" -- true 2>"$tmp/stderr" | true
assert_eq "${PIPESTATUS[0]}" 0 "exit status"
assert_eq "$(cat "$tmp/stderr")" "" "messages"
