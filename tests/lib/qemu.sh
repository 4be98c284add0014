# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests of the backend qemu share

need_virtiofsd()
{
	need_root
	[ -x /usr/lib/qemu/virtiofsd ] || skip "no /usr/lib/qemu/virtiofsd"
}

# A real machine: QEMU, a kernel image, and not inside of the VM lane already.
need_machine()
{
	need_virtiofsd
	need_program qemu-system-x86_64
	! grep -q -a __asan_init "$MENACE_RUN" || skip "a sanitizer build has no first program for a machine"
	[ -z "${MENACE_VM:-}" ] || skip "this is a virtual machine already"
	MENACE_QEMU_KERNEL=$(compgen -G "${MENACE_VM_CACHE:-/var/cache/menace-vm}/*/boot/vmlinuz-*" | head -n 1)
	[ -n "$MENACE_QEMU_KERNEL" ] || skip "no kernel image for a guest"
	# The most that there may be: others keep this machine busy.
	export MENACE_QEMU_BOOT_TIMEOUT=45s
}

# fake_kernel: a tree that looks like a kernel's package, enough for a machine that runs none.
fake_kernel()
{
	local name

	mkdir -p "$tmp/guest/boot" "$tmp/guest/lib/modules/9.9/kernel" &&
		echo image >"$tmp/guest/boot/vmlinuz-9.9" &&
		: >"$tmp/guest/lib/modules/9.9/modules.builtin" || fail "cannot make a kernel"
	for name in virtio_pci virtio_console overlay fuse virtiofs; do
		echo "kernel/$name.ko:" >>"$tmp/guest/lib/modules/9.9/modules.dep"
		echo module >"$tmp/guest/lib/modules/9.9/kernel/$name.ko"
	done
	export MENACE_QEMU_KERNEL=$tmp/guest/boot/vmlinuz-9.9
}

# fake_qemu WHAT: from now on QEMU is tests/helpers/fake-qemu.c, which does that, and knows nothing of templates.
fake_qemu()
{
	need_file "$MENACE_HELPERS/fake-qemu"
	cp "$MENACE_HELPERS/fake-qemu" "$tmp/qemu-$1" || fail "cannot copy the helper"
	export MENACE_QEMU_PROGRAM=$tmp/qemu-$1 MENACE_QEMU_TEMPLATE=0
}

# fake_run WHAT SIZE [CODE]: as fake_qemu, where the program has written so many bytes and ended with that code.
# QEMU is in $tmp/WHAT, and so is the file "output".
fake_run()
{
	fake_qemu "$1"
	mkdir -p "$tmp/$1" && mv "$MENACE_QEMU_PROGRAM" "$tmp/$1/" || fail "cannot move the helper"
	export MENACE_QEMU_PROGRAM=$tmp/$1/qemu-$1
	head -c "$2" /dev/urandom | base64 -w 0 | head -c "$2" >"$tmp/$1/output"
	case $1 in
	tells | blurts) echo "{\"exit\": ${3:-0}}" >"$tmp/$1/result" ;;
	*)
		"$MENACE_RUN" -q --backend native -o "$tmp/$1/native" sh -c "exit ${3:-0}"
		gojq 'del(.store)' "$tmp/$1/native" >"$tmp/$1/result" || fail "cannot make a result"
		;;
	esac
}

diagnostics()
{
	json ".diagnostics.$1"
}

# Nothing of a machine's is left.
assert_no_machine()
{
	! grep -l -s "^qemu-$1" /proc/[0-9]*/comm || fail "QEMU is left"
}
