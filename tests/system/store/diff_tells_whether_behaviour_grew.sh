#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace diff: new denials, changes and usage beyond the margin are growth, with
# exit 3; less is none
#
# any kernel

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_cgroups

mkdir "$tmp/w"
chmod 777 "$tmp/w"
quiet=("$MENACE_RUN" -q --explain-denials --workspace "$tmp/w")
"${quiet[@]}" -- sh -c 'echo a >/work/a'
"${quiet[@]}" -- sh -c 'echo a >/work/a; echo b >/work/b; cat /etc/shadow 2>/dev/null; true'
"${quiet[@]}" -c 'b = bytearray(90000000); open("/work/a", "w")' --lang python
mapfile -t ids < <(run_ids)

menace diff "${ids[0]}" "${ids[0]}"
assert_eq "$status:$stdout" "0:nothing grew"
menace diff "${ids[0]}" "${ids[1]}"
assert_status 3
assert_contains "$stdout" "+ change       added b"
assert_contains "$stdout" "+ denial       mount openat /etc/shadow"
assert_not_contains "$stdout" "added a"
assert_contains "$stdout" "behaviour grew"
menace diff "${ids[1]}" "${ids[0]}" --margin 100000
assert_status 0
assert_contains "$stdout" "- change       added b"
assert_contains "$stdout" "nothing grew"
menace diff "${ids[0]}" "${ids[2]}" --json
assert_status 3
assert_eq "$(jq -r '.grew' "$tmp/stdout")" true
assert_eq "$(jq -r '[.usage[].figure] | index("memory_peak_bytes") != null' "$tmp/stdout")" true "memory grew"
# Without a margin whatever is more is growth: 10% are, which the usual margin lets through.
edit "UPDATE usage SET memory_peak_bytes = 200000000, wall_us = 1, cpu_us = 1, pids_peak = 2
	WHERE run_id = '${ids[0]}';
	UPDATE usage SET memory_peak_bytes = 220000000, wall_us = 1, cpu_us = 1, pids_peak = 2
	WHERE run_id = '${ids[2]}'"
menace diff "${ids[0]}" "${ids[2]}" --json
assert_eq "$(jq -c '[.usage[].figure]' "$tmp/stdout")" '[]' "growth beyond 25%"
menace diff "${ids[0]}" "${ids[2]}" --json --margin 0
assert_status 3
assert_eq "$(jq -c '[.usage[].figure]' "$tmp/stdout")" '["memory_peak_bytes"]' "growth beyond 0%"
menace diff "${ids[0]}" nothing
assert_status 1
