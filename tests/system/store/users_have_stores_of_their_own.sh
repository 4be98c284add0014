#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without --store an unprivileged caller's runs go to his own state folder, made
# for him alone; a caller without a home runs all the same and is told
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_user_of_its_own
unset MENACE_STORE
mkdir "$tmp/home"
chown "$user:$user" "$tmp/home"
own="$tmp/home/.local/state/menace"
best=(--best-effort "${MENACE_BEST_EFFORT:-cgroup}")

run_plain "${as_user[@]}" env -u XDG_STATE_HOME -u XDG_RUNTIME_DIR HOME="$tmp/home" \
	"$MENACE_RUN" "${best[@]}" -q -o "$tmp/home/result" -- true
assert_status 0
assert_eq "$(gojq -r .store.path "$tmp/home/result")" "$own/menace.db"
assert_eq "$(stat -c '%a %u' "$own")" "700 $user" "the folder"
assert_eq "$(stat -c '%a %u' "$own/menace.db.spool")" "600 $user" "the spool"
run_plain "${as_user[@]}" env -u XDG_STATE_HOME HOME="$tmp/home" "$MENACE" runs --json
assert_status 0
assert_eq "$(gojq -r .program "$tmp/stdout")" true

run_plain "${as_user[@]}" env XDG_STATE_HOME="$tmp/home/state" "$MENACE_RUN" "${best[@]}" -q -- true
assert_status 0
[ -s "$tmp/home/state/menace/menace.db.spool" ] || fail "XDG_STATE_HOME was not used"

run_plain "${as_user[@]}" env -i PATH="$PATH" "$MENACE_RUN" "${best[@]}" -o "$tmp/home/result2" -- true
assert_status 0
assert_eq "$(gojq -r .store.state "$tmp/home/result2")" failed
assert_contains "$stderr" "the run is not kept: neither HOME nor XDG_STATE_HOME is set"
