#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace doctor where something is missing: exit status 1 and the row when a default run needs it,
# and a run there fails indeed

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_program unshare
unshare --user --map-root-user true 2>/dev/null || skip "no user namespaces"

# told COMMAND...: of doctor in a user namespace where the command was run first.
in_userns()
{
	run_plain unshare --user --map-root-user sh -c "$1; exec \"\$0\" doctor --json" "$MENACE"
}
check()
{
	gojq -c ".checks[] | select(.name == \"$1\") | $2" "$tmp/stdout"
}
for kind in net:net pid:pid ipc:ipc uts:uts mnt:mnt time:time cgroup:cgroup; do
	in_userns "echo 0 >/proc/sys/user/max_${kind%%:*}_namespaces"
	assert_status 1
	assert_eq "$(gojq .well "$tmp/stdout")" false "well without ${kind%%:*} namespaces"
	assert_eq "$(gojq -c ".checks[] | select(.group == \"namespace\" and .name == \"${kind##*:}\") | [.state, .errno_name, .needed]" "$tmp/stdout")" \
		'["missing","ENOSPC",true]' "${kind%%:*} namespaces"
done
# Root of a user namespace cannot make device nodes nor put programs into the kernel.
in_userns true
assert_status 1
assert_eq "$(check devices '[.state, .errno_name, .needed]')" '["missing","EPERM",true]' "device nodes in a user namespace"
assert_eq "$(check default '[.state, .needed]')" '["missing",true]' "a run in a user namespace"
assert_contains "$(check default .detail)" "make /dev/null: Operation not permitted"
assert_eq "$(check raw_tracepoint '[.state, .needed]')" '["missing",false]' "programs in a user namespace"
assert_contains "$(check raw_tracepoint .fix)" "run as root"
assert_eq "$(gojq '[.checks[] | select(.state == "ok" and .group == "probe")] | length' "$tmp/stdout")" 0 "probes in a user namespace"
assert_eq "$(check pidfd .state)" '"ok"' "pidfd"

# An ordinary user needs other things: it is said for him.
need_root
install -m 755 "${MENACE%/*}/menace-probe-load" "$tmp/" || fail "no loader"
need_unprivileged_user
run_plain "${as_user[@]}" "$MENACE" doctor --json
assert_eq "$(gojq -c '.checks[] | select(.group == "namespace" and .name == "user") | [.state, .needed]' "$tmp/stdout")" '["ok",true]' "as a user"
assert_eq "$(gojq -c '.checks[] | select(.name == "overlay-userns") | .needed' "$tmp/stdout")" true
well=$(gojq .well "$tmp/stdout")
run_plain "${as_user[@]}" "$MENACE_RUN" -q -- true
assert_eq "$well" "$([ "$status" -eq 0 ] && echo true || echo false)" "well, where a run gives $status"
run_plain "${as_user[@]}" "$MENACE" doctor
assert_contains "$stdout" "; to fix: "
menace doctor x
assert_refused "usage: menace doctor"
