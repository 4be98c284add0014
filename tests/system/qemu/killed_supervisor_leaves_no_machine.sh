#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-run killed, menace-qemu killed: machine and file server go with them, the control group
# with the next start.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_virtiofsd
check_leaks
fake_kernel
fake_qemu hangs

# our_children PID NAME: pids of the children of that name.
our_children()
{
	grep -l -s "^$2" /proc/[0-9]*/comm | sed 's,[^0-9],,g' | while read -r pid; do
		[ "$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)" != "$1" ] || echo "$pid"
	done
}

start_machine()
{
	"$MENACE_RUN" --backend qemu -- true 2>"$tmp/stderr" >"$tmp/stdout" &
	supervisor=$!
	wait_until 40 has_machine || fail "no machine was started: $(cat "$tmp/stderr")"
}

has_machine()
{
	backend=$(our_children "$supervisor" menace-qemu)
	[ -n "$backend" ] || return 1
	machine=$(our_children "$backend" qemu-hangs)
	files=$(our_children "$backend" virtiofsd)
	[ -n "$machine" ] && [ -n "$files" ]
}

is_gone()
{
	local pid

	for pid; do
		[ ! -e "/proc/$pid" ] || grep -q '^State:.*[ZX]' "/proc/$pid/status" || return 1
	done
}

for victim in supervisor backend; do
	start_machine
	# shellcheck disable=SC2086 # virtiofsd is two processes
	kill -KILL "${!victim}"
	# shellcheck disable=SC2086
	wait_until 40 is_gone "$machine" $files "$backend" || fail "left after the $victim was killed"
	wait "$supervisor" 2>/dev/null
done
run -- true
assert_status 0
