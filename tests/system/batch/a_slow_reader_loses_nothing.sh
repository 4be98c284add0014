#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Results larger than any pipe wait for their reader; a reader that leaves ends
# the batch
#

. "${0%/*}/../../lib/system.sh"

need_root

for ((i = 0; i < 30; i++)); do
	printf '{"schema": "menace.spec/1", "program": ["sh", "-c", "yes xxxxxxxxx | head -c 100000"]}\n'
done >"$tmp/specs"
mkfifo "$tmp/out"
"$MENACE_RUN" --batch -j 4 <"$tmp/specs" >"$tmp/out" &
batch=$!
exec 6<"$tmp/out"
sleep 0.5
cat <&6 >"$tmp/results"
wait $batch
assert_eq $? 0 "exit status"
assert_eq "$(jq -s 'map(select(.stdout.bytes == 100000 and .stdout.text == ("xxxxxxxxx\n" * 10000))) | length' "$tmp/results")" 30
exec 6<&-

"$MENACE_RUN" --batch -j 2 <"$tmp/specs" 2>"$tmp/stderr" | head -c 1000 >/dev/null
assert_eq "${PIPESTATUS[0]}" 125 "exit status without a reader"
assert_contains "$(cat "$tmp/stderr")" "standard output"
