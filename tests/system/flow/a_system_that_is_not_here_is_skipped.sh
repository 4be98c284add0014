#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A step for a system that cannot be had here is not run on the host: it is told as skipped, for want
# of an image, and no failure of the program.
#
# sanitizers
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
echo '{"schema": "menace.flow/1", "name": "other", "steps": [
	{"name": "a", "program": ["touch", "/work/ran"], "sandbox": {"os": "windows"}}]}' >"$tmp/flow.json"

menace flow run "$tmp/flow.json" --json
assert_ne "$status" 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '.steps[0] | "\(.reason) \(.passed) \(.metrics.failure_classification)"')" \
	"skipped false infrastructure"
assert_contains "$(json '.steps[0].metrics.exception')" "image missing: the system is windows"
assert_eq "$(json .status)" error
