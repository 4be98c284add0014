#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names with newlines, escapes, bytes that are not UTF-8 and great depth are
# listed so that the exact bytes can be had, and cannot forge lines of --summary
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

mkdir "$tmp/w"
cat >"$tmp/a.py" <<'END'
import os
open(b"bad\xff\xfename", "w").close()
open("new\nline", "w").close()
open("esc\x1b[2J", "w").close()
open("csi\u009b2J\u00e9", "w").close()
open("x" * 255, "w").close()
os.symlink(b"/\xff", "link")
for i in range(60):
    os.mkdir("deep"); os.chdir("deep")
open("bottom", "w").close()
END
run --summary --workspace "$tmp/w" "$tmp/a.py"
assert_status 0
names=$(json '.workspace.changes.entries[] | select(.path_base64) | .path_base64' | base64 -d | od -An -tx1)
assert_eq "$names" " 62 61 64 ff fe 6e 61 6d 65" "exact bytes"
assert_eq "$(json '[.workspace.changes.entries[] | select(.path == "new\nline")] | length')" 1
assert_eq "$(json '[.workspace.changes.entries[] | select(.path | endswith("/bottom"))] | length')" 1
assert_eq "$(json '.workspace.changes.entries[] | select(.path == "link") | .target_base64' | base64 -d | od -An -tx1)" " 2f ff"
assert_not_contains "$stderr" $'\e' "summary"
assert_not_contains "$stderr" $'\xc2\x9b' "summary"
assert_contains "$stderr" $'csi?2J\xc3\xa9' "summary"
assert_not_contains "$stderr" $'\nline' "summary"
