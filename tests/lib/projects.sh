# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The sample projects (tests/projects) under all canonical profiles; after system.sh and store.sh

need_root
need_cgroups

profiles='high_latency_api hostile_input user_misuse concurrency_spike schema_drift flaky_upstream'
# All cells, in the order of canonical.  A hundred copies of slow programs are what a slow build has no time for:
# something else is in their place, so that the seeds of the others stay.
cells=
for profile in $profiles; do
	cells+="$profile:low $profile:high "
done
[ "$MENACE_SLOWDOWN" -eq 1 ] || cells=${cells/concurrency_spike:high/normal:-}

projects=$tmp/projects
cp -r "$repo/tests/projects" "$projects" || fail "cannot copy the projects"
chmod -R a+rX "$projects"

build_ledger()
{
	need_system_program gcc
	gcc -O1 -fstack-protector-strong -o "$projects/ledger/ledger" "$projects/ledger/ledger.c" ||
		fail "ledger.c does not compile"
}

# try_all PROJECT SEED: all canonical profiles at both levels, in $result.  A hundred copies fill the cap: nothing
# that waits for answers meanwhile is slowed by them.  What a copy is worth is not by its time here, which others on
# this machine decide, too.
try_all()
{
	local list=${cells% }

	list=${list/normal:-/normal}
	[ "$MENACE_SLOWDOWN" -gt 1 ] || list=canonical
	menace scenario run "$projects/$1/flow.json" --scenarios "${list// /,}" -s "$2" -j 4 \
		--max-cpus 100 --max-memory 64Gi --max-pids 30000 --slo 1h --json
	cp "$tmp/stdout" "$result"
}

# What the seed decides, a line each.  Left out is what the time decides:
#
#   wall_ms, cpu_ms, memory_peak_bytes, aggregate   (and slo, roi and metrics of them, outside of cells)
#   at_once                                         how many copies met
#   per_copy[].runs                                 names of runs, new each time
#   in_force.*.ns                                   how long answers were late, and what a spike used
#   in_force.link                                   what the link says of itself
#   of the two profiles that are about time, high_latency_api and concurrency_spike: how often there was an
#   occasion (a second that began, a request that was repeated) and so how often it was taken
decided()
{
	gojq -c '.cells[] | (.scenario | IN("high_latency_api", "concurrency_spike")) as $timing |
		{n, scenario, level, replicate, arm, seed, verdict, why, failed_because, said,
		copies_asked, copies, copies_passed, failures,
		in_force: (.in_force | del(.link) | map_values(if type == "object" then
			del(.ns) | if $timing then del(.opportunities, .fired, .tasks, .EAGAIN) else . end
			else . end)),
		per_copy: [.per_copy[] | {passed, seed, inputs}]}' "$result"
}

# Counts of the arm with conditions: "PROFILE:LEVEL KIND FIRED OPPORTUNITIES".
counts()
{
	json '.cells[] | select(.arm == "on") | (.scenario + ":" + .level) as $cell | .in_force | to_entries[] |
		select(.value | type == "object" and has("fired")) |
		[$cell, .key, .value.fired, .value.opportunities] | join(" ")'
}

# fired CELL KIND: as often as it could, at most, and at least once.
assert_fired()
{
	local fired opportunities

	read -r fired opportunities < <(counts | sed -n "s/^$1 $2 //p")
	assert_ge "${fired:-none}" 1 "what happened of $2 in $1"
	assert_le "$fired" "$opportunities" "what happened of $2 in $1"
}

# Each profile has happened, in its own way and not by a stub alone; standard input that is a stub is hostile as
# that, which is told.
assert_all_fired()
{
	local cell copies=20

	for cell in $cells; do
		case $cell in
		high_latency_api:*) assert_fired "$cell" api_latency ;;
		hostile_input:*) assert_hostile "$1" "$cell" ;;
		concurrency_spike:*)
			assert_fired "$cell" concurrency_spike
			assert_fired "$cell" cpu_spike
			;;
		normal:-) ;;
		*)
			assert_fired "$cell" "${cell%:*}"
			assert_fired "$cell" stubs
			;;
		esac
	done
	assert_eq "$(json '[.cells[] | select(.arm == "on" and .scenario == "high_latency_api") | .in_force.link.latency_ms] |
		map(tostring) | join(" ")')" "200 500" "ms that the link was slow"
	[ "$MENACE_SLOWDOWN" -gt 1 ] || copies="20 100"
	assert_eq "$(json '[.cells[] | select(.arm == "on" and .scenario == "concurrency_spike") | .copies] |
		map(tostring) | join(" ")')" "$copies" "copies"
}

assert_hostile()
{
	assert_fired "$2" stubs
	if [ "$1" = tally ]; then
		assert_fired "$2" hostile_input
	else
		assert_contains "$(json ".cells[] | select(.arm == \"on\" and .scenario + \":\" + .level == \"$2\") |
			.in_force.left_out[]")" "its standard input is a stub made up as hostile"
	fi
}

# assert_found PROJECT SEED PROFILE FAILURE: only this profile finds something, at both levels, and the same the second time.
assert_found()
{
	local cell verdict expected=''

	for cell in $cells; do
		verdict=passed
		[ "${cell%:*}" != "$3" ] || verdict="failed $4"
		expected+="$cell $verdict"$'\n'
	done
	try_all "$1" "$2"
	assert_eq "$(json '.cells[] | select(.arm == "on") | .scenario + ":" + .level + " " +
		([.verdict, .failed_because // empty] + .why | join(" "))')" "${expected%$'\n'}" "verdicts"
	assert_eq "$(json '[.cells[] | select(.arm == "off") | .verdict] | unique[]')" passed "without conditions"
	assert_all_fired "$1"
	decided >"$tmp/first"
	try_all "$1" "$2"
	decided >"$tmp/second"
	diff "$tmp/first" "$tmp/second" >"$tmp/differences" ||
		fail "the same seed gave something else: $(head -c 3000 "$tmp/differences")"
	assert_all_fired "$1"
}
