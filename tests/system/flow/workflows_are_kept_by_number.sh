#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Workflows are added once, listed, shown, run by their number without their files, and removed
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root

echo hello >"$tmp/data"
cat >"$tmp/a.json" <<'END'
{"schema": "menace.flow/1", "name": "first", "test_data": {"x": {"file": "data"}}, "combined": false,
 "steps": [{"program": ["cat", "x"]}]}
END
sed 's/first/second/' "$tmp/a.json" >"$tmp/b.json"
menace flow add "$tmp/a.json" "$tmp/b.json"
assert_status 0
assert_eq "$stdout" "1
2"
menace flow add "$tmp/b.json" --json
assert_eq "$stdout" '{"id":2,"name":"second","steps":1}'
menace flow list --json
assert_eq "$(gojq -rs 'map([.id, .name, .steps | tostring] | join(" ")) | join(", ")' <<<"$stdout")" \
	"1 first 1, 2 second 1"
rm "$tmp/data" "$tmp/a.json"
menace flow show 1
assert_eq "$(gojq -c '[.name, .test_data.x]' <<<"$stdout")" '["first","hello\n"]'
menace flow run 1 --json
assert_status 0
assert_eq "$(gojq -r '.steps[0].stdout' <<<"$stdout")" hello
menace flow add "$tmp/b.json" "$tmp/none.json"
assert_ne "$status" 0
menace flow rm 1 7
assert_status 1
assert_contains "$stderr" "workflow 7 not found"
menace flow list --json
assert_eq "$(gojq -s 'map(.id)' -c <<<"$stdout")" "[1,2]" "nothing was removed"
menace flow rm 1
assert_status 0
menace flow run 1
assert_status 1
assert_contains "$stderr" "workflow 1 not found"
menace scenario run 1
assert_status 1
assert_contains "$stderr" "workflow 1 not found"
menace scenario run --resume 0123456789abcdef
assert_status 1
assert_contains "$stderr" '--resume: the store has no "0123456789abcdef"'
cp "$tmp/b.json" "$tmp/c.json"
sed -i 's/second/third/; s/{"file": "data"}/"z"/' "$tmp/c.json"
menace flow add "$tmp/c.json"
assert_ge "$stdout" 3 "a number that is not given twice"
menace flow lst
assert_status 2
assert_contains "$stderr" 'unknown verb "lst"; did you mean list?'
menace flow run "$tmp/c.json" --jobs 65
assert_refused "--jobs: 65 is out of range; accepted: 1 to 64"
menace --store none flow list
assert_ne "$status" 0
menace flow run "$tmp/c.json" --store none --json
assert_status 0
menace audit verify
assert_status 0
