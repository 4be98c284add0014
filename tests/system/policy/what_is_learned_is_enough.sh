#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that was learned passes under its policy without a denial, as often as it is run; what
# is written of the same runs is the same

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root
need_system_program python3 gcc

# check WHAT OPTIONS... -- PROGRAM...
check()
{
	local what=$1 expected
	shift

	learn "$@"
	assert_status 0
	expected=$stdout
	for _ in 1 2; do
		enforced -t "$(scaled 30)" "$@"
		assert_status 0
		assert_eq "$stdout" "$expected" "output of $what"
		assert_eq "$(json .denials.total)" 0 "denials of $what"
		assert_eq "$(json .receipt.policy.state)" enforced "policy of $what"
		assert_eq "$(json .receipt.policy.paths.missing)" 0 "missing paths of $what"
	done
}

cat >"$tmp/a.py" <<'END'
import json, os, subprocess, tempfile
with tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "x")
    open(name, "w").write("1")
    os.mkdir(folder + "/d")
    os.rename(name, folder + "/d/y")
open("/work/out.json", "w").write(json.dumps({"a": 1}))
open("/proc/self/status").read()
print(subprocess.check_output(["cat", "/work/out.json"]).decode())
END
check python --ro "$tmp/a.py:/a.py" -- python3 /a.py
grep -q tmp_ "$tmp/policy.json" && fail "a name that is made by chance is in the policy"
jq -e '[.paths[].path] | index("/tmp/") and index("/work/")' "$tmp/policy.json" >/dev/null ||
	fail "the folders are not in the policy"

printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' >"$tmp/a.c"
check gcc --ro "$tmp/a.c:/a.c" -- gcc -O1 -o /work/a /a.c

check pipeline -- sh -c 'seq 1 1000 | grep 7 | sort -rn | head -3 >/tmp/o; cat /tmp/o; rm /tmp/o'
cp "$tmp/policy.json" "$tmp/first.json"
learn -- sh -c 'seq 1 1000 | grep 7 | sort -rn | head -3 >/tmp/o; cat /tmp/o; rm /tmp/o'
assert_eq "$(jq -c 'del(.limits)' "$tmp/policy.json")" "$(jq -c 'del(.limits)' "$tmp/first.json")" \
	"what is learned again"
# Sorted as bytes.
assert_eq "$(gojq -r '.paths[].path' "$tmp/first.json")" \
	"$(gojq -r '.paths[].path' "$tmp/first.json" | sort)" "order of paths"

# Addresses that lie in the message, also in those after the first, and one without its family.
cat >"$tmp/send.py" <<'END'
import ctypes, socket, struct, sys
def message(address, family=socket.AF_INET):
    name = ctypes.create_string_buffer(struct.pack("=H2s4s8x", family, struct.pack(">H", address[1]),
                                                   socket.inet_aton(address[0])))
    data = ctypes.create_string_buffer(b"x")
    vec = ctypes.create_string_buffer(struct.pack("@PN", ctypes.addressof(data), 1))
    kept.extend((name, data, vec))
    return struct.pack("@PIxxxxPNPNixxxx", ctypes.addressof(name), 16, ctypes.addressof(vec), 1, 0, 0, 0)
def send(*messages, n=None):
    all = ctypes.create_string_buffer(b"".join(m + bytes(8) for m in messages))
    return libc.syscall(307, s.fileno(), all, n or len(messages), 0)
kept, libc = [], ctypes.CDLL(None, use_errno=True)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1] == "all":
    s.sendmsg([b"x"], [], 0, ("127.0.0.1", 9))
    assert send(message(("127.0.0.2", 10)), message(("127.0.0.3", 11))) == 2
    assert send(message(("127.0.0.4", 12), socket.AF_UNSPEC)) == 1
elif sys.argv[1] == "many":
    assert send(*[message(("127.0.0.2", 10))] * 65) == 65
else:
    assert libc.syscall(46, s.fileno(), ctypes.c_void_p(4096), 0) == -1 and ctypes.get_errno() == 14
END
send=(--net loopback --ro "$tmp/send.py:/send.py" -- python3 /send.py)
learn "${send[@]}" all
assert_status 0
assert_eq "$(jq -c '[.hosts[] | "\(.protocol) \(.host):\(.port)"] | sort' "$tmp/policy.json")" \
	'["udp 127.0.0.1:9","udp 127.0.0.2:10","udp 127.0.0.3:11","udp 127.0.0.4:12"]' "hosts of messages"
enforced --best-effort policy-hosts "${send[@]}" all
assert_status 0
for what in many unreadable; do
	learn "${send[@]}" $what
	assert_refused "not all paths and hosts that the program used could be recorded"
done
