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

# A datagram to each of the two now and then, until one comes to the first and none to the second.
cat >"$tmp/send.py" <<'PY'
import socket, time

ones = []
for address in "127.0.0.2", "127.0.0.3":
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, 7000))
    s.settimeout(0.05)
    ones.append(s)

def comes(s):
    ones[0].sendto(b"x", s.getsockname())
    try:
        return bool(s.recv(9))
    except TimeoutError:
        return False

comes(ones[1])
while not comes(ones[0]):
    time.sleep(0.01)
while comes(ones[1]):
    time.sleep(0.01)
PY

# The machine may be so busy that the program begins after that: then all takes longer.
for seconds in 1 4 16; do
	run_plain "${suspended[@]}" "$MENACE_RUN" -o "$result" -t "$(scaled 60)" --ro "$tmp/send.py:/send.py" \
		--net loopback --net-fault "blackhole:127.0.0.2@0..${seconds}s" --net-fault "blackhole:127.0.0.3@${seconds}s.." \
		-- python3 /send.py
	assert_status 0
	[ "$(json '.receipt.network.faults | map(.measured | .taken > 0) + [.[1].measured.before > 0] | all')" = false ] || break
done
at=$((seconds * 1000))
assert_eq "$(json ".receipt.network.faults[0] | .state, (.measured | .before == 0 and .within == .taken and .after > 0 and
	.last_taken_ms < $at and .first_after_ms >= $at)" | paste -sd ' ')" "taken true" "the first: $(json .receipt.network.faults[0])"
assert_eq "$(json ".receipt.network.faults[1] | .state, (.measured | .before > 0 and .within == .taken and .after == 0 and
	.last_before_ms < $at and .first_taken_ms >= $at)" | paste -sd ' ')" "taken true" "the second: $(json .receipt.network.faults[1])"
