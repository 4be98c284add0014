#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace export --format prometheus: sums over the runs in the text format that the textfile
# collector takes; what nobody measured is not there
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root

# value SERIES: of what was exported; nothing if it is not there.
value()
{
	series=$1 awk 'index($0, ENVIRON["series"] " ") == 1 { print substr($0, length(ENVIRON["series"]) + 2) }' \
		"$tmp/stdout"
}

put_records
menace export --format prometheus
assert_exported
check prometheus
assert_harmless
assert_eq "$(value 'menace_runs_total{reason="oom"}')" 3
assert_eq "$(value 'menace_oom_kills_total')" 6
assert_eq "$(value 'menace_cpu_seconds_total{mode="user"}')" 0.003
assert_eq "$(value 'menace_cpu_seconds_total{mode="system"}')" 0.0015
assert_eq "$(value 'menace_page_faults_total{kind="minor"}')" 36
assert_eq "$(value 'menace_page_faults_total{kind="major"}')" 0 "measured and 0"
assert_eq "$(value 'menace_denials_total{layer="mount"}')" 9
assert_eq "$(value 'menace_events_total{type="forks"}')" 9
assert_eq "$(value 'menace_network_bytes_total{direction="in"}')" 150
assert_eq "$(value 'menace_network_packets_total{direction="in"}')" 12
assert_eq "$(value 'menace_telemetry_lost_events_total{type="exec",reason="ring full"}')" 18
assert_eq "$(value 'menace_connections_total{protocol="tcp",verdict="denied"}')" 1
assert_eq "$(value 'menace_degraded_total{item="cgroup\n"}')" 3 "escaped label"
assert_eq "$(value 'menace_newest_run_start_timestamp_seconds')" 1795835986.570847
assert_eq "$(value 'menace_run_setup_seconds_bucket{le="0.001"}')" 0
assert_eq "$(value 'menace_run_setup_seconds_bucket{le="0.0025"}')" 3 "a bound belongs to its bucket"
assert_eq "$(value 'menace_run_wall_seconds_sum')" 3.703701
assert_eq "$(value 'menace_run_wall_seconds_count')" 3
# Neither by name nor as 0.
for unknown in menace_block_io_bytes_total menace_context_switches_total menace_output_bytes_total; do
	assert_not_contains "$stdout" "$unknown"
done
assert_not_contains "$stdout" 01m8grc "a run id"

menace export --format prometheus --reason exited
assert_status 0
check prometheus
assert_not_contains "$stdout" menace_runs_total
assert_eq "$(value menace_store_held_runs)" 0 "what is of the store"

# However many values a record has: a hundred of them by name, the smallest together.
edit "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
	INSERT INTO limits_hit (run_id, name) SELECT '01m8grcbq84h03083qe5vt6fsc', printf('%04d', i) FROM n;
	INSERT INTO limits_hit VALUES ('01m8grcbq84h03083qe5vt6fsc', 'other')"
menace export --format prometheus
check prometheus
assert_eq "$(grep -c '^menace_limits_hit_total' "$tmp/stdout")" 101 "series"
assert_eq "$(value 'menace_limits_hit_total{limit="memory"}')" 3
assert_eq "$(value 'menace_limits_hit_total{limit="other"}')" 902

# Numbers beyond 64 bits in sum, and an empty store.
edit "UPDATE usage SET cpu_user_us = 9223372036854775807"
menace export --format prometheus
assert_status 0
check prometheus
assert_eq "$(value 'menace_cpu_seconds_total{mode="user"}')" 27670116110564.33
edit "DELETE FROM runs; DELETE FROM usage"
menace export --format prometheus
assert_status 0
check prometheus
