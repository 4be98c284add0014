#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# While a plugin of stubs is waited for, signals end it and what waits, the cells of a matrix go on, and a
# menace-run that does not end it in time is ended itself
#
# lane: soak (bounds on how soon others go on and how soon all ends)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
check_leaks

printf '#!/bin/sh\nexec sleep 60\n' >"$tmp/slow"
cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "waits", "combined": false, "stubs": {"word": {"type": "str"}},
 "steps": [{"name": "a", "program": ["sleep", "0.3"], "stdin": "{{stub:word}}"}, {"name": "b", "program": ["sleep", "0.3"]}]}
END
mkdir "$tmp/t"
asked()
{
	"$MENACE" top --json | gojq -e '.runs[] | select(.name == "plugin")' >/dev/null
}
# ends_by_signal COMMAND...: fails where that is not soon, whatever the plugin still has.
ends_by_signal()
{
	local begin pid

	TMPDIR=$tmp/t "$MENACE" "$@" >"$tmp/stdout" 2>"$tmp/stderr" &
	pid=$!
	wait_until 20 asked || fail "no plugin was asked"
	begin=$(now_ms)
	kill -TERM "$pid"
	wait "$pid"
	status=$?
	stderr=$(<"$tmp/stderr")
	assert_eq "$status" 143
	took=$(($(now_ms) - begin))
	assert_eq "$(find "$tmp/t" -mindepth 1)" "" "left of the plugin"
	[ "$took" -le "$(scaled 3000)" ]
}

# A menace-run of somebody else's making that listens to nobody, while the rest goes on.
mkdir "$tmp/bin"
cp "$MENACE" "$tmp/bin/menace"
printf '#!/bin/bash\ntrap "" TERM\nexec sleep 100\n' >"$tmp/bin/menace-run"
chmod +x "$tmp/bin/menace-run"
begin_deaf()
{
	local began

	began=$(now_ms)
	MENACE_STORE=none "$tmp/bin/menace" flow run "$tmp/flow.json" --stub-strategy "plugin:$tmp/slow" >"$tmp/deaf.out" 2>"$tmp/deaf.err"
	echo "$? $(($(now_ms) - began))" >"$tmp/deaf.end"
}
begin_deaf &
deaf=$!

patiently ends_by_signal flow run "$tmp/flow.json" --stub-strategy "plugin:$tmp/slow" || fail "the end takes $took ms"
assert_contains "$stderr" "interrupted: no step was run"
presets="[{\"SCENARIO_NAME\": \"quick\", \"MAX_THREADS\": 50}, {\"SCENARIO_NAME\": \"slow\", \"SANDBOX_STUB_STRATEGY\": \"plugin:$tmp/slow\"}]"
what=(scenario run "$tmp/flow.json" -p "$presets" --scenarios normal --seed 3 --max-cpus 64)
patiently ends_by_signal "${what[@]}" -j 6 || fail "the end takes $took ms"
assert_contains "$stderr" "interrupted: menace scenario run --resume"
assert_eq "$("$MENACE" query "SELECT count(*) AS n FROM cells WHERE scenario = 'slow' AND arm = 'on'" --json)" '{"n":0}'

# The cells that run meanwhile are done before the plugin has had its time.
others_go_on()
{
	menace "${what[@]}" -j 6 --json
	assert_status 125
	cp "$tmp/stdout" "$result"
	assert_eq "$(json '[.cells[] | .scenario + " " + .arm + " " + .verdict] | sort | join(", ")')" \
		"normal off passed, normal on passed, quick off passed, quick on passed, slow off passed, slow on error"
	assert_eq "$(json '.cells[] | select(.scenario == "slow" and .arm == "on") | .why[0]')" \
		'stub "word": plugin: it was ended: wall_timeout: it has 5000 ms'
	assert_ge "$elapsed_ms" 5000
	took=$(json '[.cells[] | select(.scenario == "quick") | .aggregate.elapsed_ms] | max | floor')
	[ "$took" -le 4500 ]
}
patiently others_go_on || fail "the cells beside a slow plugin take $took ms"

wait "$deaf"
read -r status took <"$tmp/deaf.end"
assert_eq "$status" 125 "exit status with a deaf menace-run: $(cat "$tmp/deaf.out")"
assert_contains "$(cat "$tmp/deaf.err")" 'stub "word": plugin: menace-run, which gives it 5000 ms, did not end it in 10000 more'
assert_le "$took" "$(scaled 30000)" "time until a deaf menace-run was ended"
