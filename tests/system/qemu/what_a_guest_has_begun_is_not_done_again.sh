#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A guest that ran the program and then says that its kernel cannot do it is not believed: the run is lost, and no
# other backend does it once more.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_virtiofsd
need_program python3
with_own_mounts
# Nothing can be done natively here, where there are no control groups to be seen.
mount -t tmpfs none /sys/fs/cgroup || skip "/sys/fs/cgroup cannot be covered"
fake_kernel
MENACE_QEMU_BOOT_TIMEOUT=$(scaled 10)s
export MENACE_QEMU_BOOT_TIMEOUT

mkdir -p "$tmp/engine/none"
python3 "$repo/tests/lib/fake-dockerd.py" "$tmp/engine" none &
at_exit kill $!
wait_until 30 test -S "$tmp/engine/none/sock" || fail "the engine does not start"
export DOCKER_HOST=unix://$tmp/engine/none/sock

fake_qemu claims
run --timeout 60s -- true
assert_contains "$stderr" 'backend qemu ('
assert_status 125
assert_reason supervisor_lost
assert_eq "$(json .error.code)" proto
assert_eq "$(json .error.message)" "the guest's result says that nothing began, after 13 bytes of output"
assert_eq "$(json .receipt.backend.name)" qemu
assert_eq "$(json .stdout.text)" 'it has begun'
assert_eq "$(cat "$tmp/engine/none/log")" '' "what the engine was asked"
assert_no_machine claims

# One that never came up has begun nothing: then it is done elsewhere.
fake_qemu quits
run --timeout 60s -- true
assert_eq "$(json .receipt.backend.name)" docker
assert_status 7
