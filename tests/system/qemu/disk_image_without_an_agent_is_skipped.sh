#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Guests that say nothing, too much, another version or go away: skipped, with the reason, in time.
# Agents that do not keep to the protocol, or do not end: told apart from that.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"
. "$repo/tests/lib/vm_disk.sh"

need_qemu
check_leaks

# guest WHAT STATUS REASON VM_ERROR [OPTION ...]
guest()
{
	disk "$1"
	on_disk "$1" --timeout 60s "${@:5}"
	assert_status "$2"
	assert_reason "$3"
	assert_eq "$(diagnostics vm_error)" "$4" "error of $1"
	assert_eq "$(diagnostics attempts)" 1 "attempts of $1"
	assert_no_overlay
}

guest silent 125 skipped \
	'timeout: no agent in the guest after 8.0 s ("menace-agent 1" on its second serial port)' \
	--set sandbox.vm_agent_ms=8000
assert_eq "$(json .error.code)" sys
assert_contains "$(diagnostics console_tail)" "guest here"
guest silent 125 skipped \
	'timeout: no agent in the guest after 3.0 s ("menace-agent 1" on its second serial port)' \
	--timeout 3s
guest floods 125 skipped \
	"the guest floods its second serial port (more than 65536 bytes), and no line of it is an agent's"
guest old 125 skipped "the guest's agent speaks version \"0\", not 1"
guest resets 125 skipped "the guest has ended its machine, and had no agent"
assert_eq "$(diagnostics qemu_exit)" 0

guest garbage 125 setup_error 'garbage from the agent: ffffffff begins no frame'
guest host 125 setup_error 'garbage from the agent: a frame START is not for this side to send'
guest early 125 setup_error 'garbage from the agent: frame 10 before STARTED'
guest refuses 125 setup_error 'agent: "no such \x1bprogram"'
guest lies 125 supervisor_lost \
	'garbage from the agent: the agent'\''s result is neither {"exit": 0 to 255} nor {"signal": 1 to 64}'

guest hangs 124 wall_timeout timeout --timeout 12s
assert_le "$elapsed_ms" "$(scaled 40000)" "time of a guest that hangs"
assert_eq "$(json '.limits_hit | tojson')" '["wall"]' "limits that a guest that hangs met"
guest babbles 137 output_limit null --output-limit 20000
assert_eq "$(json .stdout.bytes)" 20000
assert_eq "$(json '.limits_hit | tojson')" '["output"]' "limits that a guest that babbles met"
