#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A user neither sees nor follows a run of root's; his own he does, and root sees it too
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
need_user_of_its_own
mkdir -m 700 "$tmp/his"
chown "$user" "$tmp/his"
start_waiting roots -- sh -c 'echo waiting; read -r x; exit 0'
MENACE_STORE=$tmp/his/m.db run_plain "${as_user[@]}" "$MENACE" events --follow "$id"
assert_ne "$status" 0 "exit status of a stranger"
assert_not_contains "$stdout$stderr" exec
run_plain "${as_user[@]}" "$MENACE" top --json
assert_status 0
assert_eq "$(gojq -c .runs <<<"$stdout")" '[]' "what a stranger sees"
go roots
end_of "$supervisor"

mkfifo "$tmp/his.in"
echo '{"schema": "menace.spec/1", "name": "his"}' >"$tmp/his.spec"
"${as_user[@]}" env MENACE_STORE="$tmp/his/m.db" "$MENACE_RUN" -q -t "$(scaled 120)" --best-effort cgroup --spec "$tmp/his.spec" -- \
	sh -c 'read -r x; mount -t tmpfs x /mnt 2>/dev/null; exit 0' <"$tmp/his.in" >"$tmp/his.out" 2>&1 &
supervisor=$!
exec {fd}>"$tmp/his.in"
is_seen()
{
	[ -n "$("$@" "$MENACE" top --json | gojq -r --argjson pid "$supervisor" '.runs[] | select(.supervisor_pid == $pid)')" ]
}
wait_until 30 is_seen "${as_user[@]}" || fail "he does not see his own run: $(cat "$tmp/his.out")"
is_seen env || fail "root does not see it"
id=$(id_of "$supervisor")
assert_eq "$("$MENACE" top --json | gojq -c --arg id "$id" '.runs[] | select(.run_id == $id) | [.uid, .program, .name]')" \
	"[$user,\"sh\",\"his\"]" "his run"
# Without a control group nobody can tell what it does.
his_state=$("$MENACE" top --json | gojq -c --arg id "$id" '.runs[] | select(.run_id == $id) | [.pids, .state]')
assert_match "$his_state" '^(\[null,null\]|\[[0-9]+,"running"\])$' "state"
"$MENACE" events --follow --json "$id" >"$tmp/root.followed" 2>"$tmp/root.err" &
root=$!
"${as_user[@]}" "$MENACE" events --follow --json "$id" >"$tmp/his.followed" 2>"$tmp/his.err" &
follower=$!
has_connected()
{
	[ -s "$tmp/his.err" ] && [ -s "$tmp/root.err" ]
}
wait_until 30 has_connected || fail "nobody follows: $(cat "$tmp/his.err" "$tmp/root.err")"
echo go >&"$fd"
exec {fd}>&-
end_of "$follower"
assert_status 0
end_of "$root"
assert_status 0
assert_contains "$(cat "$tmp/his.err")" "only denials are known of this run"
for who in his root; do
	assert_eq "$(gojq -s -c '[.[] | [.type, .detail.what]]' "$tmp/$who.followed")" '[["denial","mount"]]' "what $who sees"
done
