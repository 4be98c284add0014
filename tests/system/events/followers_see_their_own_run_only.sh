#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sixteen runs of one process at once, four followers: each sees its run whole and
# nothing of another
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
mkdir "$tmp/gate"
chmod 755 "$tmp/gate"
for ((i = 0; i < 16; i++)); do
	gojq -n -c --arg i "$i" --arg name "run-$$-$i" --arg gate "$tmp/gate" '{schema: "menace.spec/1", name: $name,
		mounts: [{type: "ro", source: $gate, dest: "/gate"}],
		program: ["sh", "-c", "until [ -e /gate/open ]; do sleep 0.1; done; for k in 1 2 3 4 5; do /bin/true mark-\($i); done"]}'
done >"$tmp/specs"
"$MENACE_RUN" -q -t "$(scaled 120)" --batch -j 16 <"$tmp/specs" >"$tmp/results" 2>"$tmp/batch.err" &
supervisor=$!
sixteen_run()
{
	"$MENACE" top --json >"$tmp/top"
	[ "$(gojq --arg ours "run-$$-" '[.runs[] | select(.state == "running" and (.name // "" | startswith($ours)))] | length' "$tmp/top")" -eq 16 ]
}
wait_until 60 sixteen_run || fail "there are not sixteen runs: $(cat "$tmp/top")"
for ((i = 0; i < 16; i += 5)); do
	id=$(gojq -r --arg name "run-$$-$i" '.runs[] | select(.name == $name) | .run_id' "$tmp/top")
	follow "$id" "$tmp/followed.$i"
	ids+=("$id")
	followers[i]=$follower
done
touch "$tmp/gate/open"
end_of "$supervisor"
assert_status 0
for i in "${!followers[@]}"; do
	end_of "${followers[i]}"
	assert_status 0
	assert_eq "$(gojq -s -c '[.[] | select(.type == "exec" and .object == "/bin/true") | .detail.argv[1]] | group_by(.) | map([.[0], length])' \
		"$tmp/followed.$i")" "[[\"mark-$i\",5]]" "marks that the follower of run $i saw"
	assert_eq "$(gojq -s '[.[] | select(.type == "lost")] | length' "$tmp/followed.$i")" 0 "losses"
	assert_eq "$(gojq -s '[.[] | select(.type == "exit")] | length' "$tmp/followed.$i")" \
		"$(gojq --arg name "run-$$-$i" 'select(.name == $name) | .telemetry.counters.exits' "$tmp/results")" "ends"
done
assert_eq "$(gojq -s -c '[.[] | [.reason, .telemetry.complete]] | unique' "$tmp/results")" '[["exited",true]]' "results"
assert_eq "$(for id in "${ids[@]}"; do list_askers "$id"; done)" "" "names of followers"
