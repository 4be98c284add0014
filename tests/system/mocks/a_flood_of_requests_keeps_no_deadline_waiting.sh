#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests without end, of clients that wait and of clients that are gone at once, each of which is to start a command: the
# run ends little after its deadline, and no command is left
# lane: soak (bounds the time from the deadline to the end)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program python3
check_leaks

cat >"$tmp/flood.py" <<'PY'
import socket, threading
def one(close):
    while True:
        try:
            s = socket.create_connection(("a.example", 80), 5)
            s.sendall(b"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n")
            if not close:
                s.recv(100)
            s.close()
        except OSError:
            pass
for i in range(60):
    threading.Thread(target=one, args=(i % 2,), daemon=True).start()
threading.Event().wait()
PY
for within in 100s 50ms; do
	seconds=$(scaled 6)
	stub -t "$seconds" --mock "a.example=within:$within,exec:sleep 77.7741" --ro "$tmp/flood.py:/flood.py" -- python3 /flood.py
	assert_reason wall_timeout
	assert_ge "$(mock a.example exec.runs)" 4 "runs"
	assert_eq "$(mock a.example 'exec | .runs == .failed')" true "runs that failed"
	assert_le "$(json '.usage.wall_us / 1000 | floor')" $((seconds * 1000 + $(scaled 10000))) "milliseconds until the end"
	! grep -lszx -e '77[.]7741' /proc/[0-9]*/cmdline || fail "a command is left"
done
