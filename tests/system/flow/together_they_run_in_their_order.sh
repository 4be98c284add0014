#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Of all steps together each is where it would be alone: behind what it needs, however the document lists
# them, and with its files in the workspace, wherever it works
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root

cat >"$tmp/order.json" <<'END'
{"schema": "menace.flow/1", "workspace": "shared", "steps": [
  {"name": "use", "program": ["cat", "made"], "needs": ["make"]},
  {"name": "make", "program": ["sh", "-c", "echo 1 >made"]}]}
END
menace flow run "$tmp/order.json" --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.steps[] | .name + " " + (.passed | tostring)] | join(", ")')" "use true, make true, combined true"
assert_eq "$(json '.steps[2].stdout')" 1

mkdir -p "$tmp/tree/src"
for cwd in /work/src /tmp; do
	cat >"$tmp/cwd.json" <<-END
		{"schema": "menace.flow/1", "source": "tree", "sandbox": {"cwd": "$cwd"}, "steps": [
		  {"program": ["cat", "/work/src/in.txt"], "files": {"src/in.txt": "x"}}, {"program": ["pwd"]}]}
	END
	menace flow run "$tmp/cwd.json" --json
	assert_status 0
	cp "$tmp/stdout" "$result"
	assert_eq "$(json '.steps[2].stdout')" "x$cwd" "together in $cwd"
done
