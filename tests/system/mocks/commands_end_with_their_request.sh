#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# However many requests come, no more than four commands run at once; a command reaches no network, neither the host's nor the payload's; and nothing that it started
# is left: not when it ends, not when the run does, not when the supervisor is killed
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program python3 curl
check_leaks

# commands WORD: how many processes of the host have it as an argument of its own; grep's is another one.
commands()
{
	grep -lszx -e "${1/./[.]}" /proc/[0-9]*/cmdline | wc -l
}

gone()
{
	[ "$(commands "$1")" = 0 ]
}

runs()
{
	[ "$(commands "$1")" != 0 ]
}

# 24 clients that wait for their answer, and 24 that are gone at once.
cat >"$tmp/flood.py" <<'PY'
import socket, sys, threading

def one(close):
    with socket.create_connection(("a.example", 80)) as s:
        s.sendall(b"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n")
        if not close:
            s.recv(100)

waiting = [threading.Thread(target=one, args=(False,), daemon=True) for _ in range(24)]
for thread in waiting:
    thread.start()
for _ in range(24):
    one(True)
print("asked", flush=True)
if sys.argv[1] == "all":
    for thread in waiting:
        thread.join()
else:
    sys.stdin.read(1)
PY

# None ends before the run does, so that those that are there at once are all that ever ran.
four_run()
{
	[ "$(commands 77.7731)" -ge 4 ] && grep -q asked "$tmp/flood.out"
}
mkfifo "$tmp/end"
"$MENACE_RUN" -q -t "$(scaled 60)" --net stub --mock 'a.example=within:100s,exec:sleep 77.7731' --ro "$tmp/flood.py:/flood.py" \
	-o "$tmp/flood.json" -- python3 /flood.py some <>"$tmp/end" >"$tmp/flood.out" &
supervisor=$!
wait_until 50 four_run || fail "no four commands run"
assert_eq "$(commands 77.7731)" 4 "commands at once"
echo >"$tmp/end"
wait "$supervisor"
assert_eq $? 0 "how the flood ended"
assert_eq "$(gojq -c '.network.mocks[0].exec | [.runs, .failures.run_ended.count]' "$tmp/flood.json")" '[4,4]'
gone 77.7731 || fail "a command is left after a flood"
# Each that waits has its command, in its turn, and each command its time.
stub --mock "a.example=within:20ms,exec:sleep 77.7736" --ro "$tmp/flood.py:/flood.py" -- python3 /flood.py all
assert_status 0
assert_ge "$(mock a.example exec.runs)" 24 "runs"
assert_eq "$(mock a.example 'exec | .runs == .failed')" true "runs that failed"
gone 77.7736 || fail "a command is left after a flood"

# What it leaves in the background ends with it.
stub --mock 'a.example=exec:sh -c "setsid sleep 77.7732 >/dev/null 2>&1 & (sleep 77.7732 &) ; echo hi"' -- \
	curl -sS http://a.example/
assert_status 0
assert_eq "$stdout" hi
gone 77.7732 || fail "a command's daemon is left"

# A bomb meets its limit of processes, and the payload is none the worse.
stub --mock 'a.example=within:1s,exec:sh -c "f() { f | f & }; f; sleep 77.7733"' --mock 'b.example=body:well' -- sh -c '
curl -sS -o /dev/null http://a.example/; curl -sS http://b.example/'
assert_status 0
assert_eq "$stdout" well
gone 77.7733 || fail "a command's processes are left"

# The run is over first: as soon as the command runs.
end_when_it_runs()
{
	wait_until 30 runs 77.7734
	echo end >"$tmp/over"
}
mkfifo "$tmp/over"
exec 8<>"$tmp/over"
end_when_it_runs &
stub --mock 'a.example=within:100s,exec:sleep 77.7734' -- sh -c 'curl -sS http://a.example/ & read -r over' <&8
wait $!
exec 8>&-
assert_status 0
assert_eq "$(mock a.example 'exec.failures | tojson')" '{"run_ended":{"count":1,"last":"the run was over first"}}'
gone 77.7734 || fail "a command outlives the run"

# The supervisor is killed while a command runs.
"$MENACE_RUN" -q -t 100 --net stub --mock 'a.example=within:100s,exec:sleep 77.7735' -- curl -sS http://a.example/ &
supervisor=$!
wait_until 30 runs 77.7735 || fail "no command runs"
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
wait_until 10 gone 77.7735 || fail "a command outlives the supervisor"
"$MENACE_RUN" -q -- true

# It has a network of nobody, and no way to the payload's: not even its loopback is up.
cat >"$tmp/reach.py" <<'PY'
#!/usr/bin/python3
import os, socket
print(os.readlink("/proc/self/ns/net"))
for address in ("127.0.0.1", 8080), ("198.18.0.1", 80), ("127.0.0.53", 53):
    try:
        socket.create_connection(address, 2)
        print("reached")
    except OSError as e:
        print("denied")
PY
chmod +x "$tmp/reach.py"
cat >"$tmp/payload.py" <<'PY'
import os, socket, urllib.request
s = socket.create_server(("127.0.0.1", 8080))
said = urllib.request.urlopen("http://a.example/").read().decode().split("\n")
print(said[0] != os.readlink("/proc/self/ns/net"), *said[1:])
PY
stub --mock "a.example=within:100s,exec:$tmp/reach.py" --ro "$tmp/payload.py:/payload.py" -- python3 /payload.py
assert_status 0
assert_eq "$stdout" "True denied denied denied "
