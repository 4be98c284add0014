#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A container is not below the control group that keeps a matrix's cap: the report and the table say so,
# with the loss that its receipt has; a sandbox of this host is.  So what an engine says of memory that ran
# out, which is its container's own, puts no blame on the cap
#
# lane: machine

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_program python3

loss="the container is in the engine's control groups and not below the one of --cgroup-parent, whose limits do not hold it"

# start_engine_of NAME [FAULT]: an engine for one run.
start_engine_of()
{
	local fault=${2-none}

	mkdir -p "$tmp/$1/$fault"
	python3 "$repo/tests/lib/fake-dockerd.py" "$tmp/$1" "$fault" &
	at_exit kill $!
	wait_until 120 test -S "$tmp/$1/$fault/sock" || fail "the engine does not start"
	export DOCKER_HOST=unix://$tmp/$1/$fault/sock
}

# The arm without conditions is a sandbox of this host, the other one a container.
start_engine_of json
menace scenario run -p '{"SCENARIO_NAME": "boxed", "CONTAINER_IMAGE": "x"}' --json -- true
assert_status 1 # the container ends with 7
cp "$tmp/stdout" "$result"
[ "$(json .cap.kept_by)" = kernel ] || skip "no control group can be made: $(json .cap.why)"
assert_eq "$(json '.cap | .runs, .runs_outside' | tr '\n' ' ')" '2 1 '
assert_eq "$(json '.cap.outside_why | to_entries[] | "\(.value) \(.key)"')" "1 $loss"
assert_eq "$("$MENACE" runs --all --json | wc -l)" 2

start_engine_of table
menace scenario run -p '{"SCENARIO_NAME": "boxed", "CONTAINER_IMAGE": "x"}' -- true
assert_contains "$stdout" "    1 of 2 runs were not in it
    1: $loss"

# A container that is out of its memory has failed, however far the cap is.
start_engine_of memory oom
menace scenario run -p '{"SCENARIO_NAME": "eats", "CONTAINER_IMAGE": "x"}' --json -- true
assert_status 1
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells[] | select(.arm == "on") | .verdict, (.why | length)' | tr '\n' ' ')" "failed 0 "
assert_eq "$(json '.counts.inconclusive, .cap.ooms, .cap.runs_outside' | tr '\n' ' ')" "0 0 1 "
assert_eq "$("$MENACE" query 'SELECT count(*) AS n FROM runs WHERE oom_level IS NOT NULL' --json)" '{"n":1}'

# None is outside where all are of this host, and nothing is said of it.
menace scenario run --scenarios normal -- true
assert_status 0
assert_not_contains "$stdout" "not in it"
