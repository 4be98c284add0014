#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The machine has a control group with its limits.  menace-run killed, menace-qemu killed: it goes with
# them, the overlay with the machine, the control group with the next start.  QEMU that dies is tried
# again, and then told.
# security
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"
. "$repo/tests/lib/vm_disk.sh"

need_root
check_leaks
disk answers
fake_qemu hangs

# child_of PID NAME: pid of the child of that name.
child_of()
{
	grep -l -s "^$2" /proc/[0-9]*/comm | sed 's,[^0-9],,g' | while read -r pid; do
		[ "$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)" != "$1" ] || echo "$pid"
	done
}

has_machine()
{
	backend=$(child_of "$supervisor" menace-qemu)
	[ -n "$backend" ] || return 1
	machine=$(child_of "$backend" qemu-hangs)
	[ -n "$machine" ]
}

is_gone()
{
	local pid

	for pid; do
		[ ! -e "/proc/$pid" ] || grep -q '^State:.*[ZX]' "/proc/$pid/status" || return 1
	done
}

# Whoever has the overlay open.
overlay_is_open()
{
	find /proc/[0-9]*/fd -lname "$MENACE_QEMU_OVERLAYS/*" 2>/dev/null | grep -q .
}

# group_value CONTROLLER FILE_OF_V1 FILE_OF_V2: of the machine's control group.
group_value()
{
	local v1 v2

	v1=/sys/fs/cgroup/$1$(awk -F: -v c="$1" '$2 ~ "(^|,)" c "(,|$)" { print $3 }' "/proc/$machine/cgroup")/$2
	v2=/sys/fs/cgroup$(awk -F: '$1 == 0 { print $3 }' "/proc/$machine/cgroup")/$3
	if [ -r "$v1" ]; then cat "$v1"; else cat "$v2"; fi
}

is_limited()
{
	[[ "$(group_value cpu cpu.cfs_quota_us cpu.max) $(group_value memory memory.limit_in_bytes memory.max)" =~ ^50000\ (100000\ )?$((2304 << 20))$ ]]
}

for victim in supervisor backend; do
	"$MENACE_RUN" --cpus 0.5 --set "sandbox.vm_image=$tmp/answers" -- prog 2>"$tmp/stderr" >"$tmp/stdout" &
	supervisor=$!
	wait_until 40 has_machine || fail "no machine was started: $(cat "$tmp/stderr")"
	wait_until 40 is_limited || fail "the machine's group has not the limits of a machine"
	overlay_is_open || fail "this test does not see the overlay"
	kill -KILL "${!victim}"
	wait_until 40 is_gone "$machine" "$backend" || fail "left after the $victim was killed"
	wait "$supervisor" 2>/dev/null
	! overlay_is_open || fail "the overlay is open after the $victim was killed"
	assert_no_overlay
done
run -- true
assert_status 0

fake_qemu quits
on_disk answers
assert_status 125
assert_reason setup_error
assert_eq "$(json '.diagnostics | "\(.attempts) \(.qemu_exit) \(.vm_error)"')" \
	"3 3 QEMU ended with status 3: qemu: this machine is not for today"
assert_no_overlay
