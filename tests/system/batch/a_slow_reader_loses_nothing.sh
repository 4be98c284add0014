#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Results larger than any pipe wait for their reader; a reader that leaves ends
# the batch
#

. "${0%/*}/../../lib/system.sh"

need_root
need_program python3

for ((i = 0; i < 12; i++)); do
	printf '{"schema": "menace.spec/1", "program": ["sh", "-c", "yes xxxxxxxxx | head -c 100000"]}\n'
done >"$tmp/specs"
mkfifo "$tmp/out"
"$MENACE_RUN" --batch -j 4 <"$tmp/specs" >"$tmp/out" &
batch=$!
exec 6<"$tmp/out"
# The pipe is full before anything is read: who writes waits.
python3 - <<'END' || fail "the pipe is never full"
import fcntl, struct, termios, time
while struct.unpack("i", fcntl.ioctl(6, termios.FIONREAD, b"0000"))[0] < 60000:
    time.sleep(0.02)
END
cat <&6 >"$tmp/results"
wait $batch
assert_eq $? 0 "exit status"
assert_eq "$(gojq -s 'map(select(.stdout.bytes == 100000 and .stdout.text == ("xxxxxxxxx\n" * 10000))) | length' "$tmp/results")" 12
exec 6<&-

"$MENACE_RUN" --batch -j 2 <"$tmp/specs" 2>"$tmp/stderr" | head -c 1000 >/dev/null
assert_eq "${PIPESTATUS[0]}" 125 "exit status without a reader"
assert_contains "$(cat "$tmp/stderr")" "standard output"
