#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A machine's program gets what --stdin names: no folder of the host, and a FIFO that nobody writes to
# is waited for no longer than the run
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_virtiofsd
fake_kernel
fake_run pours 10
echo mine >"$tmp/mine"
mkfifo "$tmp/fifo"

run --backend qemu --stdin "$tmp" -- cat
assert_refused "standard input is a directory"
run --backend qemu --stdin "$tmp/none" -- cat
assert_refused "standard input $tmp/none: No such file or directory"
for what in mine fifo; do
	run --backend qemu --timeout 20s --stdin "$tmp/$what" -- true
	assert_status 0
	assert_reason exited
done
