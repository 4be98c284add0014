#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A machine that does not come up, comes up wrong or goes away: the reason is told, within the
# limits of time, and nothing is left.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_virtiofsd
check_leaks
fake_kernel
# For all but the one that is to exceed it.
MENACE_QEMU_BOOT_TIMEOUT=$(scaled 10)s
export MENACE_QEMU_BOOT_TIMEOUT

# case WHAT REASON ATTEMPTS VM_ERROR
case_of()
{
	fake_qemu "$1"
	run --backend qemu --timeout 60s -- true
	assert_status 125
	assert_reason "$2"
	assert_eq "$(diagnostics attempts)" "$3" "attempts of $1"
	assert_eq "$(diagnostics vm_error)" "$4" "error of $1"
	assert_eq "$(json .error.message)" "$4" "message of $1"
	assert_no_machine "$1"
}

case_of quits setup_error 3 'QEMU ended with status 3: qemu: this machine is not for today'
assert_eq "$(diagnostics qemu_exit)" 3
assert_eq "$(diagnostics cold_why)" 'MENACE_QEMU_TEMPLATE says so'
case_of panics setup_error 3 "the guest's kernel panicked, see diagnostics"
assert_match "$(diagnostics console_tail)" 'Kernel panic - not syncing: No working init found.$'
assert_le "$(diagnostics 'console_tail | length')" 4096
case_of babbles setup_error 3 'garbage from the guest: 3c68746d begins no frame'
case_of inflates setup_error 3 \
	'garbage from the guest: a frame OUT of 4294967295 bytes (1 to 65536)'
case_of refuses setup_error 3 'guest: "no \x1b[31mroom"'
case_of lies supervisor_lost 1 "the guest's result: schema is missing"
case_of bloats supervisor_lost 1 'garbage from the guest: a result of more than 50331648 bytes'
case_of dies supervisor_lost 1 'QEMU was ended by signal 9'
assert_eq "$stdout" 'the last words'
assert_eq "$(json .stdout.text)" 'the last words'
MENACE_QEMU_BOOT_TIMEOUT=1s case_of hangs setup_error 3 'timeout: the guest was not ready after 1 s'
assert_le "$elapsed_ms" "$(scaled 20000)" "time for three attempts"

# A machine that cannot be made a template of is booted, and this is told.
fake_qemu quits
MENACE_QEMU_TEMPLATE=1 run --backend qemu --timeout 60s -- true
assert_status 125
assert_eq "$(diagnostics start)" cold
assert_eq "$(diagnostics cold_why)" \
	'make the template of a machine: QEMU ended before its guest was up, and said "qemu: this machine is not for today"'
assert_eq "$(diagnostics vm_error)" 'QEMU ended with status 3: qemu: this machine is not for today'
assert_eq "$(diagnostics attempts)" 3
MENACE_QEMU_TEMPLATE=maybe run --backend qemu -- true
assert_status 2
assert_contains "$stderr" 'MENACE_QEMU_TEMPLATE: "maybe" is not a flag'
