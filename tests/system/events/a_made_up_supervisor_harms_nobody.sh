#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A user may write a lease by hand and play its supervisor: what root sees of it does not act,
# is bounded, and is no time or state that nobody measured
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/follow.sh"

need_root
need_user_of_its_own
need_system_program python3
leases=$user_leases
id=01zzzzzzzzzzzzzzzzzzzzzzzz
"${as_user[@]}" mkdir -p -m 700 "${leases%/*}" "$leases" || fail "no folder for his leases"

cat >"$tmp/supervisor.py" <<'END'
import fcntl, json, os, signal, socket, struct, sys
leases, run = sys.argv[1:]
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
lease = os.open(f"{leases}/{run}", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.fcntl(lease, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
os.write(lease, b"/sys/fs/cgroup/nobody\n/etc\n\n%d 4611686018427387904\na\x1b[2Jb\0c\xffd\0" % os.getpid())
print("ready", flush=True)
asker = None
while not asker:
    signal.sigwait([signal.SIGURG])
    asker = next((name for name in os.listdir(leases) if name.startswith(".follow-")), None)
follower = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
follower.connect(f"{leases}/{asker}")

def say(row):
    follower.send(row if isinstance(row, bytes) else json.dumps(row).encode())

say({"type": "hello", "run_id": run, "begin_ns": 1, "unknown": "\x1b[31m"})
say({"type": "exec", "boot_ns": -2**63, "tgid": "\x1b", "comm": "\x1b[2J", "object": "\x1b]0;owned\x07", "detail": [[]]})
say(["lost"])
for n in range(70000):
    say({"type": "tcp", "boot_ns": 2**62 + n, "detail": "}"})
sys.stdin.readline()
say(b"\x1b{")
sys.stdin.readline()
END
mkfifo "$tmp/in"
"${as_user[@]}" /usr/bin/python3 -c "$(cat "$tmp/supervisor.py")" "$leases" "$id" <"$tmp/in" >"$tmp/out" 2>&1 &
supervisor=$!
exec {fd}>"$tmp/in"
wait_until 30 grep -q ready "$tmp/out" || fail "no supervisor: $(cat "$tmp/out")"

assert_eq "$("$MENACE" top --json | gojq -c --arg id "$id" '.runs[] | select(.run_id == $id) |
	[.uid, .supervisor_pid, .state, .age_us, .cpu_percent, .memory_bytes, .pids]')" \
	"[$user,$supervisor,null,null,null,null,null]" "what nobody measured"
menace top
assert_status 0
assert_match "$(grep "^$id" "$tmp/stdout")" "^$id - +- +- .* - (c|a)"
! grep -q -P '[\x00-\x08\x0b-\x1f\x7f]' "$tmp/stdout" || fail "top: a control character"

# Events of tomorrow are not held back until the memory is full.
"$MENACE" events --follow "$id" >"$tmp/followed" 2>"$tmp/complaints" &
follower=$!
wait_until 120 grep -q " tcp " "$tmp/followed" || fail "everything is held back: $(cat "$tmp/complaints")"
echo go >&"$fd"
end_of "$follower"
assert_ne "$status" 0 "exit status after what is no message"
assert_match "$(tail -n 1 "$tmp/complaints")" "the supervisor:1:[0-9]+: ."
for file in followed complaints; do
	! grep -q -P '[\x00-\x08\x0b-\x1f\x7f]' "$tmp/$file" || fail "$file: a control character"
done
assert_match "$(grep -m 1 " exec " "$tmp/followed")" '^           - +- +\\x1b\[2J +exec +\\x1b\]0;owned\\x07'
assert_eq "$(grep -c " tcp " "$tmp/followed")" 70000 "events"
exec {fd}>&-
end_of "$supervisor"
assert_eq "$(find "$leases" -name '.follow-*')" "" "names that are left"
