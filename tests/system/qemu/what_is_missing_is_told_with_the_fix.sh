#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No QEMU, no kernel, one without modules, one without virtiofs: what is missing, and what to do.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_virtiofsd
fake_kernel

# refused TEXT: not begun, and no machine was tried.
refused()
{
	run --backend qemu "${options[@]}" -- true
	assert_status 125
	assert_reason setup_error
	assert_eq "$(json .error.code)" kernel
	assert_contains "$(json .error.message)" "$1"
	assert_contains "$(diagnostics vm_error)" "$1"
	assert_eq "$(diagnostics attempts)" 0
}

options=()
MENACE_QEMU_PROGRAM=$tmp/none refused \
	"qemu missing: MENACE_QEMU_PROGRAM=$tmp/none is no program by its whole path"
fake_qemu quits
MENACE_QEMU_KERNEL=$tmp/vmlinuz-1.0 refused \
	"MENACE_QEMU_KERNEL: $tmp/vmlinuz-1.0: No such file or directory"
MENACE_QEMU_KERNEL=$tmp/guest/boot/kernel refused "not named vmlinuz-RELEASE"
mv "$tmp/guest/lib/modules/9.9/modules.dep" "$tmp/dep"
refused "$tmp/guest/lib/modules/9.9/modules.dep: No such file or directory"
grep -v virtiofs "$tmp/dep" >"$tmp/guest/lib/modules/9.9/modules.dep"
refused "vmlinuz-9.9 has neither virtiofs nor 9p"
grep -v overlay "$tmp/dep" >"$tmp/guest/lib/modules/9.9/modules.dep"
refused "vmlinuz-9.9 has no module overlay"
cp "$tmp/dep" "$tmp/guest/lib/modules/9.9/modules.dep"

# What no machine does, whatever is there.
not_done()
{
	run --backend qemu "${options[@]}" -- true
	assert_status 125
	assert_eq "$(json .error.message)" "backend qemu: does not do $1"
}

options=(--rw "$tmp")
not_done "a host path shown writable"
options=(--workspace "$tmp" --keep-changes "$tmp/kept")
not_done sandbox.keep_changes
