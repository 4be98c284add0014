#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run in a virtual machine has the result that it has here: output, input, exit status, limits
# of the guest's kernel, and nothing of it reaches this host.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_machine
need_system_program python3
check_leaks
mkdir "$tmp/shown" && echo shown >"$tmp/shown/file" || fail "cannot make a folder"
echo 'input of the caller' >"$tmp/input"

cat >"$tmp/code.py" <<'END'
import os, sys
print(6 * 7)
print(sys.stdin.read().strip())
print(os.environ["WORD"], os.getpid() < 10, os.uname().release)
print(open("/shown/file").read().strip())
print("to standard error", file=sys.stderr)
try:
    open("/shown/file", "w")
except OSError as e:
    print(e.strerror)
open("/tmp/own", "w").write("x" * 1000)
sys.exit(7)
END
run --backend qemu --timeout 60s --stdin "$tmp/input" --ro "$tmp/shown:/shown" --env WORD=word \
	--memory 256Mi "$tmp/code.py"
assert_status 7
assert_reason exited
mapfile -t lines <"$tmp/stdout"
assert_eq "${lines[0]}" 42
assert_eq "${lines[1]}" 'input of the caller'
assert_match "${lines[2]}" '^word True '
assert_ne "${lines[2]#word True }" "$(uname -r)" "kernel of the program"
assert_eq "${lines[2]#word True }" "$(diagnostics kernel)" "kernel of the program"
assert_eq "${lines[3]}" shown
assert_eq "${lines[4]}" 'Read-only file system'
assert_contains "$stderr" 'to standard error'
assert_eq "$(json .stderr.text)" 'to standard error'
assert_eq "$(cat "$tmp/shown/file")" shown
assert_absent /tmp/own
assert_eq "$(json .receipt.backend.name)" qemu
assert_eq "$(json .receipt.guest.kernel)" "$(diagnostics kernel)"
assert_eq "$(json .receipt.cgroup.mode)" v2
assert_eq "$(json .receipt.cgroup.limits.memory_max_bytes.value)" 268435456
assert_eq "$(json .receipt.seccomp.state)" enforced
assert_eq "$(json .diagnostics.vm_error)" null
if [ "$(diagnostics accel)" = tcg ]; then
	assert_eq "$(diagnostics cpus)" 1 "processors of an emulated machine"
	MENACE_QEMU_TEMPLATE=0 run --backend qemu --timeout 60s --cpus 2 -- nproc
	assert_eq "$stdout" "$(diagnostics cpus)"
	assert_eq "$(diagnostics cpus)" "$(($(nproc) < 2 ? $(nproc) : 2))" "processors that were asked for"
fi
assert_eq "$(json .spec_sha256 | wc -c)" 65
