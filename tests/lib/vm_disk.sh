# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests of machines with disks of their own share; after tests/lib/qemu.sh

# disk WHAT [qcow2]: an image of tests/lib/disk.py at $tmp/WHAT.
disk()
{
	need_program python3
	python3 "$repo/tests/lib/disk.py" "$1" "$tmp/$1" "${@:2}" || fail "cannot make a disk"
}

# on_disk WHAT [OPTION ...]: a run in a machine with that disk.
on_disk()
{
	run --set "sandbox.vm_image=$tmp/$1" "${@:2}" -- prog "an arg"
}

# A machine that does not need a kernel image, and is not within one already.
need_qemu()
{
	need_root
	need_program qemu-system-x86_64
	need_program python3
	[ -z "${MENACE_VM:-}" ] || skip "this is a virtual machine already"
}

export MENACE_QEMU_OVERLAYS=$tmp/overlays
mkdir -m 0700 "$MENACE_QEMU_OVERLAYS" || fail "cannot make the folder of overlays"

# Nothing of an overlay is left; it never had a name.
assert_no_overlay()
{
	[ -z "$(ls -A "$MENACE_QEMU_OVERLAYS")" ] || fail "an overlay is left"
}
