#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# -p takes a file, a built-in name or JSON; what it cannot enforce is refused
# unless it is named as best effort
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

limits()
{
	json '[.limits.memory_max_bytes, .limits.wall_ms, .limits.pids_max, .limits.cpus, .limits.disk_bytes] | @csv'
}

printf '{"MEMORY_LIMIT": "64Mi", "TIMEOUT": 5, "MAX_THREADS": "16", "CPU_LIMIT": "0.25", "DISK_LIMIT": "16Mi", "SCENARIO_NAME": "one"}' >"$tmp/p.json"
run -p "$tmp/p.json" -- true
assert_status 0
assert_eq "$(limits)" 67108864,5000,16,0.25,16777216 "from a file"
assert_eq "$(json .name)" one "name"
run -p "$(cat "$tmp/p.json")" -- true
assert_eq "$(limits)" 67108864,5000,16,0.25,16777216 "from text"
run -p tiny -- true
assert_eq "$(limits)" 67108864,5000,16,0.25,16777216 "by name"
run -p strict -- true
assert_eq "$(json .receipt.seccomp.level)" 4 "level of strict"

run -p "[$(cat "$tmp/p.json")]" -- true
assert_status 0
run -p "[$(cat "$tmp/p.json"), {}]" -- true
assert_status 2

run -p '{"DISK_IO_THROTTLE": 100}' -- true
assert_status 2
assert_contains "$stderr" DISK_IO_THROTTLE
run -p '{"DISK_IO_THROTTLE": 100}' --best-effort DISK_IO_THROTTLE -- true
assert_status 0
assert_eq "$(json '.not_enforced | @csv')" '"DISK_IO_THROTTLE"' "not enforced"
run -p '{"NETWORK_LATENCY_MS": 0, "CPU_SPIKE": false, "OS_TYPE": "linux"}' -- true
assert_status 0
