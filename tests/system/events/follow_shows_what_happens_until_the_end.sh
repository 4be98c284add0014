#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A follower gets what was there and what comes, each once and in order, and ends with the
# run; afterwards the store tells the same
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
# shellcheck disable=SC2016 # for the shell inside
start_waiting one -- sh -c 'echo waiting; read -r x; for i in 1 2 3; do /bin/true $i; done; mount -t tmpfs x /mnt; exit 5'
menace events "$id"
assert_status 1
assert_contains "$stderr" "run $id goes on; --follow shows what happens in it"
ids=("$id")
follow "${id:0:25}" "$tmp/followed"
# What happened before is there before anything else does.
wait_until 30 grep -q '"type":"exec"' "$tmp/followed" || fail "the past is not told"
assert_eq "$(gojq -s -c '[.[] | select(.type == "exec") | .detail.argv[0]]' "$tmp/followed")" '["sh"]' "the past"
go one
end_of "$supervisor"
assert_status 5
end_of "$follower"
assert_status 0
assert_eq "$(cat "$tmp/followed.err")" "" "what the follower says"

key='[.[] | [.boot_ns, .type, .tgid, .object, .detail.argv]] | sort'
menace events "$id" --json
assert_eq "$(gojq -s -c "$key" "$tmp/followed")" "$(gojq -s -c "$key" "$tmp/stdout")" "live against stored"
assert_eq "$(gojq -s '[.[].boot_ns] | . == sort' "$tmp/followed")" true "order of time"
assert_eq "$(gojq -s '[.[].since_ns] | .[0] > 0 and . == sort' "$tmp/followed")" true "time since the start"

# A run that has ended is told whole; so is a type alone, in text.
menace events --follow "$id" --json
assert_status 0
assert_eq "$(gojq -s -c "$key" "$tmp/followed")" "$(gojq -s -c "$key" "$tmp/stdout")" "ended before"
start_waiting two -- sh -c 'echo waiting; read -r x; /bin/true; exit 0'
ids+=("$id")
"$MENACE" events -f "$id" --type exec >"$tmp/text" 2>&1 &
follower=$!
wait_until 30 test -s "$tmp/text" || fail "nothing is followed"
go two
end_of "$follower"
assert_status 0
end_of "$supervisor"
assert_eq "$(grep -c ' exec ' "$tmp/text")" 2 "programs"
assert_eq "$(grep -c -v ' exec \|SECOND[S]' "$tmp/text")" 0 "other lines"

# Ended by a limit is an end like others; the processor's is not near before the program goes on.
start_waiting three --set limits.cpu_time_ms=300 -- sh -c 'echo waiting; read -r x; while :; do :; done'
ids+=("$id")
follow "$id" "$tmp/followed"
go three
end_of "$follower"
assert_status 0
end_of "$supervisor"
assert_eq "$(gojq -r .reason "$tmp/three.json")" cpu_limit "reason"
assert_eq "$(gojq -s -c '[.[] | select(.type == "exit" and .comm == "sh") | .detail.exit_signal]' "$tmp/followed")" \
	'[9]' "end by the limit"
assert_eq "$(for id in "${ids[@]}"; do list_askers "$id"; done)" "" "names of followers"
# Nothing of all this is in the runs' records.
assert_eq "$(gojq -r .telemetry.complete "$tmp/one.json")" true "complete"
assert_eq "$("$loader" entries)" "" "groups still observed"
