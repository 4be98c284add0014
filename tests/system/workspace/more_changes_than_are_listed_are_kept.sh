#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --keep-changes copies all that changed, and lists all that is gone, also when the
# result has no row for it; a copy that cannot be whole fails the run by name
# security

. "${0%/*}/../../lib/system.sh"

need_root
mkdir "$tmp/w"
echo old >"$tmp/w/zz_gone"
run --workspace "$tmp/w" --keep-changes "$tmp/out" -- python3 -c '
import os
for d in range(150):
    os.mkdir(f"d{d:03}")
    for f in range(100):
        open(f"d{d:03}/f{f}", "w").close()
open("zz_last", "w").write("last")
os.unlink("zz_gone")'
assert_status 0
assert_eq "$(find "$tmp/out" -path '*/f*' -type f | wc -l)" 15000 "files kept"
assert_eq "$(cat "$tmp/out/zz_last")" last
assert_eq "$(tr '\0' '\n' <"$tmp/out/.menace-deleted")" zz_gone "deleted"
assert_eq "$(json '.workspace.changes | "\(.truncated) \(.entries | length)"')" "true 10000" "the list says that it is cut"
assert_eq "$(json '.workspace.kept | "\(.files) \(.dirs) \(.deletions) \(.lost) \(.complete)"')" \
	"15001 150 1 0 true" "kept"

# The name of the list is no payload's: what has it is lost, and the run fails.
run --workspace "$tmp/w" --keep-changes "$tmp/out2" -- sh -c 'echo x >.menace-deleted; echo y >other'
assert_status 125
assert_contains "$stderr" 'not kept, the first is ".menace-deleted"'
assert_eq "$(json '.workspace.kept | "\(.files) \(.lost) \(.complete)"')" "1 1 false" "kept"
assert_eq "$(cat "$tmp/out2/other")" y

# A program that failed keeps its own status, and the loss is said all the same.
run --workspace "$tmp/w" --keep-changes "$tmp/out3" -- sh -c 'echo x >.menace-deleted; exit 3'
assert_status 3
assert_contains "$stderr" 'not kept, the first is ".menace-deleted"'
