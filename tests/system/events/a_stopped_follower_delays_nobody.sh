#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A follower that does not read costs the run nothing, and is told how much it missed: what
# was shown and what was not make the whole
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
forks=2600
start_waiting flood -- sh -c "echo waiting; read -r x; exec /processes forks $forks"
follow "$id" "$tmp/stopped"
stopped=$follower
follow "$id" "$tmp/reading" --type fork
"$MENACE" events --follow "$id" >"$tmp/text" 2>&1 &
in_text=$!
wait_until 30 test -s "$tmp/text" || fail "nothing is followed"
kill -STOP "$stopped" "$in_text"
go flood
end_of "$supervisor"
assert_status 0
emitted=$(gojq .telemetry.books.emitted "$tmp/flood.json")
assert_ge "$emitted" $((2 * forks)) "events there were"
assert_eq "$(gojq -r .reason "$tmp/flood.json")" exited "end, with the followers still stopped"
kill -CONT "$stopped" "$in_text"
end_of "$stopped"
assert_status 0
lost=$(gojq -s '[.[] | select(.type == "lost") | .count] | add // 0' "$tmp/stopped")
shown=$(gojq -s '[.[] | select(.type != "lost")] | length' "$tmp/stopped")
assert_ge "$lost" 1 "events not shown"
assert_eq $((shown + lost)) "$emitted" "events shown and not shown"
# More than what fits was never kept for it: the queue is bounded.
[ "$shown" -le 5000 ] || fail "$shown events were kept for a stopped follower"
# The one beside it was not held up.
end_of "$follower"
assert_status 0
"$MENACE" events "$id" >"$tmp/stored"
assert_eq "$("$loader" entries)" "" "groups still observed"

# In text it is one line.
end_of "$in_text"
assert_status 0
assert_match "$(grep ' lost ' "$tmp/text" | tail -n 1)" '^ +lost     [0-9]+ events not shown: this reader was too slow'
