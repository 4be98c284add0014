#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without rights: a workspace of one's own is an overlay all the same; what one
# may not read stays unreadable

. "${0%/*}/../../lib/system.sh"

need_unprivileged_user

mkdir "$tmp/runtime" "$tmp/w" "$tmp/out"
echo text >"$tmp/w/file"
echo secret >"$tmp/w/secret"
chown -R 65534:65534 "$tmp/w" "$tmp/runtime" "$tmp/out"
chown 0:0 "$tmp/w/secret"
chmod 600 "$tmp/w/secret"
export XDG_RUNTIME_DIR=$tmp/runtime
result=$tmp/out/result.json # where he can make files
before=$(find "$tmp/w" -printf '%p %m %T@ %s %U\n' | sort)

run_plain "${as_user[@]}" "$MENACE_RUN" -q --best-effort cgroup -o "$result" --workspace "$tmp/w" \
	--keep-changes "$tmp/out/kept" -- sh -c 'cat file; cat secret || echo refused; echo new >new; rm file'
assert_status 0
assert_eq "${stdout//$'\n'/ }" "text refused"
assert_eq "$(json '[.workspace.changes.entries[] | .kind + " " + .path] | @csv')" '"deleted file","added new"'
assert_eq "$(find "$tmp/w" -printf '%p %m %T@ %s %U\n' | sort)" "$before" "the folder"
assert_eq "$(cat "$tmp/out/kept/new")" new "kept"
assert_eq "$(json '.receipt.degraded[0].item')" cgroup "degraded"
