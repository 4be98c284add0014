#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# While a plugin of stubs is waited for, a signal ends it and what waits, of a workflow and of a matrix; nothing of it
# is left (a_slow_plugin_stops_nothing has how soon)
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
need_cgroups
check_leaks
use_gate

printf '#!/bin/sh\nsh /gate/pass\n' >"$tmp/slow"
cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "waits", "combined": false, "stubs": {"word": {"type": "str"}},
 "steps": [{"name": "a", "program": ["true"], "stdin": "{{stub:word}}"}, {"name": "b", "program": ["true"]}]}
END
mkdir "$tmp/t"
# ends_by_signal COMMAND...: while its plugin runs.
ends_by_signal()
{
	local pid

	close_gate 0
	TMPDIR=$tmp/t "$MENACE" "$@" >"$tmp/stdout" 2>"$tmp/stderr" &
	pid=$!
	wait_until 50 is_waiting 1 || fail "no plugin was asked"
	kill -TERM "$pid"
	wait "$pid"
	assert_eq $? 143 "exit status"
	stderr=$(<"$tmp/stderr")
	assert_eq "$(find "$tmp/t" -mindepth 1)" "" "left of the plugin"
}
ends_by_signal flow run "$tmp/flow.json" --stub-strategy "plugin:$tmp/slow"
assert_contains "$stderr" "interrupted: no step was run"
presets="[{\"SCENARIO_NAME\": \"quick\", \"MAX_THREADS\": 50}, {\"SCENARIO_NAME\": \"slow\", \"SANDBOX_STUB_STRATEGY\": \"plugin:$tmp/slow\"}]"
ends_by_signal scenario run "$tmp/flow.json" -p "$presets" --scenarios normal --seed 3 -j 6
assert_contains "$stderr" "interrupted: menace scenario run --resume"
assert_eq "$("$MENACE" query "SELECT count(*) AS n FROM cells WHERE scenario = 'slow' AND arm = 'on'" --json)" '{"n":0}'
