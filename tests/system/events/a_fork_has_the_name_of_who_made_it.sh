#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The name at a fork is that of its maker at that moment, whatever it is called before and later,
# and whether it is followed or read from the store

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
need_system_program python3
cat >"$tmp/fork.py" <<'END'
import ctypes, os, sys, threading
def fork_as(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(15, b"child", 0, 0, 0)
        os._exit(0)
    os.waitpid(pid, 0)
if len(sys.argv) > 1:
    print("waiting", flush=True)
    sys.stdin.readline()
fork_as("renamed")
thread = threading.Thread(target=fork_as, args=("thread",))
thread.start()
thread.join()
os.execv("/bin/true", ["true"])
END

forks='[.[] | select(.type == "fork") | [.boot_ns, .tgid, .detail.child_tgid, .comm]]'
start_waiting one --ro "$tmp/fork.py:/fork.py" -- python3 /fork.py wait
follow "$id" "$tmp/followed"
go one
end_of "$supervisor"
assert_status 0
end_of "$follower"
assert_status 0
menace events "$id" --json
assert_eq "$(gojq -s -c "$forks" "$tmp/stdout")" "$(gojq -s -c "$forks" "$tmp/followed")" "forks, stored against live"
assert_eq "$(gojq -s -c "$forks | map(.[3])[-2:]" "$tmp/stdout")" '["renamed","thread"]' "names of makers"
menace events --follow "$id" --json
assert_eq "$(gojq -s -c "$forks | map(.[3])[-2:]" "$tmp/stdout")" '["renamed","thread"]' "names, followed afterwards"

# What its maker had executed has no room among the events.
run --net loopback --ro "$tmp/fork.py:/fork.py" -- \
	bash -c 'for ((i = 0; i < 2000; i++)); do : >/dev/udp/127.0.0.1/9; done; exec python3 /fork.py'
assert_status 0
menace events "$(json .run_id)" --json
assert_eq "$(gojq -s '[.[] | select(.type == "exec" and (.comm | startswith("python")))] | length' "$tmp/stdout")" 0 \
	"executions that had room"
assert_eq "$(gojq -s -c "$forks | map(.[3])[-2:]" "$tmp/stdout")" '["renamed","thread"]' "names of makers, of a cut list"

# A record that does not have the name has none.
edit "UPDATE links SET body = replace(body, 'parent_comm', 'parent_name') WHERE kind = 'telemetry'"
menace events "$(json .run_id)" --json
assert_eq "$(gojq -s -c "$forks | map(.[3])[-2:]" "$tmp/stdout")" '[null,null]' "names that are not known"
