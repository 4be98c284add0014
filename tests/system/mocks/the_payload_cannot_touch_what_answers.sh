#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What answers is no process that the payload sees, listens where nobody takes its place,
# and is confined: a user of its own, no capability, no new privilege, a filter
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program python3 curl
need_program pgrep

# A listener of the payload's own on a mocked address or on all of them gets nothing of it,
# and its own loopback is its own.
stub --mock 'a.example=body:mock' -- python3 -c '
import os, socket, urllib.request
def listen(address):
    s = socket.socket()
    try:
        s.bind(address)
        s.listen()
        s.setblocking(False)
    except OSError as e:
        return None
    return s
ears = [listen(("198.18.0.1", 8080)), listen(("0.0.0.0", 8082)), listen(("127.0.0.1", 8081))]
assert all(ears)
for port in 8080, 8082:
    print(urllib.request.urlopen("http://a.example:%d/" % port).read().decode())
def heard(ear):
    try:
        return ear and bool(ear.accept())
    except BlockingIOError:
        return False
print([heard(ear) or False for ear in ears])
mine = socket.create_connection(("127.0.0.1", 8081))
ears[2].settimeout(20)
print(heard(ears[2]))
print([d for d in os.listdir("/proc") if d.isdigit() and open("/proc/" + d + "/comm").read() == "menace-netd\n"])'
assert_status 0
assert_eq "$stdout" "mock
mock
[False, False, False]
True
[]"

# At every level and in a user namespace, it reads the certificate and changes nothing.
for option in "--level 2" "--level 3" --userns; do
	# shellcheck disable=SC2086 # words
	stub $option --mock 'a.example=body:mock' -- sh -c '(: >/run/mocks/ca.pem) 2>/dev/null || curl -sS https://a.example/'
	assert_status 0
	assert_eq "$stdout" mock "answer with $option"
done
stub --level 5 --mock 'a.example=body:mock' -- curl -sS https://a.example/
assert_status 0
assert_eq "$stdout" mock "answer at level 5"

mkdir "$tmp/out"
chmod 777 "$tmp/out"
"$MENACE_RUN" -q -t 100 --net stub --mock 'a.example=body:x' --rw "$tmp/out:/out" -- \
	sh -c 'curl -sS https://a.example/ >/out/answer; touch /out/started; sleep 1000' &
supervisor=$!
at_exit kill "$supervisor"
wait_until 30 test -e "$tmp/out/started" || fail "the payload does not start"
assert_eq "$(cat "$tmp/out/answer")" x
responder=$(pgrep -P "$supervisor" -x menace-netd) || fail "nothing answers"
value()
{
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$responder/status"
}
assert_eq "$(value CapEff) $(value CapPrm) $(value CapBnd)" \
	"0000000000000000 0000000000000000 0000000000000000" "capabilities"
assert_eq "$(value NoNewPrivs) $(value Seccomp)" "1 2"
assert_ge "$(value Seccomp_filters)" 2 "filters"
assert_ne "$(value Uid | cut -f1)" 0 "user"
