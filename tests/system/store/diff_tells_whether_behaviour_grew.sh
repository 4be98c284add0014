#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace diff: new denials, changes and usage beyond the margin are growth, with
# exit 3; less is none
#

. "${0%/*}/../../lib/system.sh"
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
assert_eq "$(gojq -r '.grew' "$tmp/stdout")" true
assert_eq "$(gojq -r '[.usage[].figure] | index("memory_peak_bytes") != null' "$tmp/stdout")" true "memory grew"
# Without a margin whatever is more is growth: 10% are, which the usual margin lets through.
edit "UPDATE usage SET memory_peak_bytes = 200000000, wall_us = 1, cpu_us = 1, pids_peak = 2
	WHERE run_id = '${ids[0]}';
	UPDATE usage SET memory_peak_bytes = 220000000, wall_us = 1, cpu_us = 1, pids_peak = 2
	WHERE run_id = '${ids[2]}'"
menace diff "${ids[0]}" "${ids[2]}" --json
assert_eq "$(gojq -c '[.usage[].figure]' "$tmp/stdout")" '[]' "growth beyond 25%"
menace diff "${ids[0]}" "${ids[2]}" --json --margin 0
assert_status 3
assert_eq "$(gojq -c '[.usage[].figure]' "$tmp/stdout")" '["memory_peak_bytes"]' "growth beyond 0%"

# A list that is cut is said to be: of a program that had no room, of rows that had none, of lost events.
new_store
"${quiet[@]}" -- true
"${quiet[@]}" --net loopback -- \
	bash -c 'for ((i = 0; i < 1500; i++)); do : >/dev/udp/127.0.0.1/9; done; /bin/true; exit 0'
mapfile -t ids < <(run_ids)
menace diff "${ids[1]}" "${ids[0]}"
assert_contains "$stdout" "? program      not all are listed of run ${ids[1]}"
assert_not_contains "$stdout" "listed of run ${ids[0]}"
menace diff "${ids[1]}" "${ids[1]}"
assert_status 0
assert_match "$stdout" $'\nnothing grew of what is listed$'
menace diff "${ids[0]}" "${ids[1]}" --json
assert_eq "$(gojq -c '[.from.cut, (.to.cut | index("program") != null)]' "$tmp/stdout")" '[[],true]' "what is cut"
for kind in name:names host:connections program:processes; do
	edit "UPDATE links SET body = json_set(body, '\$.data.books.${kind#*:}_not_listed', 1)
		WHERE kind = 'telemetry' AND run_id = '${ids[0]}'"
done
edit "UPDATE runs SET denials_dropped = 1, changes_left_out = 1 WHERE run_id = '${ids[0]}'"
menace diff "${ids[0]}" "${ids[1]}" --json
assert_eq "$(gojq -c .from.cut "$tmp/stdout")" '["change","denial","host","name","program"]' "rows that had no room"
edit "UPDATE links SET body = json_remove(body, '\$.data.books'); DELETE FROM losses;
	INSERT INTO losses (run_id, type, reason, count)
		SELECT '${ids[0]}', type, 'ring full', 1 FROM (SELECT 'dns' AS type UNION SELECT 'bind');
	UPDATE runs SET denials_dropped = 0, changes_left_out = NULL"
menace diff "${ids[0]}" "${ids[1]}" --json
assert_eq "$(gojq -c .from.cut "$tmp/stdout")" '["name"]' "lost events"
menace diff "${ids[0]}" nothing
assert_status 1
