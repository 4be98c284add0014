#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net-fault: a host's clocks are apart by the time for which it was suspended, and the faults begin and end
# as on any other

. "${0%/*}/../../lib/system.sh"

need_root
need_program unshare
need_system_program python3
suspended=(unshare --time --fork --boottime 3600)
"${suspended[@]}" true 2>/dev/null || skip "no namespaces of time"

# A datagram every 10 ms, for so many ms from the start of this process on.
cat >"$tmp/send.py" <<'PY'
import os, socket, sys, time

begin = int(open("/proc/self/stat").read().rsplit(")")[1].split()[19]) / os.sysconf("SC_CLK_TCK")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while time.clock_gettime(time.CLOCK_BOOTTIME) - begin < int(sys.argv[1]) / 1000:
    s.sendto(b"x", ("127.0.0.2", 7))
    time.sleep(0.01)
PY

# The machine may be so busy that nothing is sent in the time of a fault, or between: then all takes longer.
fail_for_a_while()
{
	first_end=$(($1 * 600)) begin=$(($1 * 1000)) end=$(($1 * 1600))
	run_plain "${suspended[@]}" "$MENACE_RUN" -o "$result" -t "$(scaled 60)" --ro "$tmp/send.py:/send.py" \
		--net loopback --net-fault "blackhole:127.0.0.2@0..${first_end}ms" \
		--net-fault "blackhole:127.0.0.2@${begin}ms..${end}ms" -- python3 /send.py $(($1 * 2000))
	assert_status 0
	[ "$(json '.receipt.network.faults | [.[].state, .[].measured.after > 0, .[1].measured.before > 0] | map(tostring) | join(" ")')" = \
		"taken taken true true true" ]
}

fail_for_a_while "$(scaled 1)" || fail_for_a_while "$(scaled 4)" || fail "$(json .receipt.network.faults)"
assert_eq "$(json ".receipt.network.faults[0].measured | .before == 0 and .within == .taken and .after > 0 and
	.last_taken_ms < $first_end and .first_after_ms >= $first_end")" true "the first: $(json .receipt.network.faults[0])"
assert_eq "$(json ".receipt.network.faults[1].measured | .before > 0 and .within == .taken and .after > 0 and
	.last_before_ms < $begin and .first_taken_ms >= $begin and .last_taken_ms < $end and .first_after_ms >= $end")" \
	true "the second: $(json .receipt.network.faults[1])"
