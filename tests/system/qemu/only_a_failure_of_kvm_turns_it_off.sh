#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What fails with KVM for another reason leaves it on; what fails with it and works without turns it off
# until the next boot, and that is said.
# lane: machine

if [ "$(id -u)" -eq 0 ] && [ -z "${IN_NAMESPACE:-}" ]; then
	IN_NAMESPACE=1 exec unshare --mount --propagation private "$0"
fi

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"
. "$repo/tests/lib/vm_disk.sh"

need_virtiofsd
fake_kernel
disk answers
export MENACE_QEMU_BOOT_TIMEOUT=45s
# With the host's devices, for runs are needed to make them.
fake_run slips 7
fake_run dawdles 7

# A folder of memories and a /dev/kvm of our own, which no fake opens.
folder=/run/menace/qemu
mkdir -p "$folder" && mount -t tmpfs -o size=1m,mode=700 memories "$folder" || fail "cannot mount"
mkdir "$tmp/dev" && mount -t tmpfs -o size=1m devices "$tmp/dev" && mknod -m 666 "$tmp/dev/null" c 1 3 &&
	mknod -m 666 "$tmp/dev/kvm" c 1 3 && mknod -m 666 "$tmp/dev/zero" c 1 5 &&
	mknod -m 666 "$tmp/dev/random" c 1 8 && mknod -m 666 "$tmp/dev/urandom" c 1 9 &&
	ln -s /proc/self/fd "$tmp/dev/fd" || fail "cannot make devices"
mount --move "$tmp/dev" /dev || fail "cannot mount"
check_leaks

# fails ACCEL WHAT OPTION...: it does, the last machine used that, and KVM is still on.
fails()
{
	run --backend qemu "${@:3}" -- true
	assert_ne "$status" 0 "exit status: $2"
	assert_eq "$(diagnostics accel)" "$1" "accel: $2"
	[ ! -e "$folder/kvm-fails" ] || fail "KVM is off: $2"
}

# Nothing to boot from.
rm "$tmp/guest/lib/modules/9.9/kernel/overlay.ko"
fails kvm "no module"
echo module >"$tmp/guest/lib/modules/9.9/kernel/overlay.ko"

# A share that fails.
echo >"$tmp/none" && chmod +x "$tmp/none" || fail "cannot make a file"
mount --bind "$tmp/none" /usr/lib/qemu/virtiofsd || fail "cannot mount"
fails kvm "no virtiofsd"
umount /usr/lib/qemu/virtiofsd || fail "cannot unmount"

# QEMU cannot be executed.
MENACE_QEMU_PROGRAM=$tmp/none fails kvm "no QEMU"
MENACE_QEMU_PROGRAM=$tmp/none fails kvm "no QEMU with a disk" --set "sandbox.vm_image=$tmp/answers"

# A machine that comes up neither with nor without.
fake_qemu quits
fails tcg "a bad machine"
fails tcg "a bad machine with a disk" --set "sandbox.vm_image=$tmp/answers"

# Once the kernel is up, the rest has the time that was given.
MENACE_QEMU_PROGRAM=$tmp/dawdles/qemu-dawdles run --backend qemu -- true
assert_status 0
assert_eq "$(diagnostics accel),$(diagnostics attempts)" kvm,1 "machines"

# KVM's own.
MENACE_QEMU_PROGRAM=$tmp/slips/qemu-slips run --backend qemu -- true
assert_status 0
assert_eq "$(diagnostics accel),$(diagnostics attempts)" tcg,2 "machines"
assert_eq "$(grep -c KVM <<<"$stderr")" 1 "messages: $stderr"
assert_contains "$stderr" "a machine with KVM did not come up (QEMU ended with status 3: qemu: this machine is not for today), and one without did: machines are emulated until the next boot of this host, or until $folder/kvm-fails is removed"
[ -e "$folder/kvm-fails" ] || fail "it is not remembered"
MENACE_QEMU_PROGRAM=$tmp/slips/qemu-slips run --backend qemu -- true
assert_eq "$(diagnostics accel),$(diagnostics attempts)" tcg,1 "machines"
assert_not_contains "$stderr" KVM
