#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The order of precedence, whatever the order on the command line
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

pids()
{
	run "$@" -- true
	assert_status 0
	json .limits.pids_max
}

printf '{"schema": "menace.spec/1", "program": ["true"], "limits": {"pids_max": 30}}' >"$tmp/spec"
assert_eq "$(pids)" 512 "default"
export SANDBOX_ENV_PRESETS='{"MAX_THREADS": 10}'
assert_eq "$(pids)" 10 "environment"
assert_eq "$(pids -p '{"MAX_THREADS": 20}')" 20 "preset over environment"
assert_eq "$(pids --spec "$tmp/spec" -p '{"MAX_THREADS": 20}')" 30 "spec over preset"
assert_eq "$(pids -s limits.pids_max=40 --spec "$tmp/spec" -p '{"MAX_THREADS": 20}')" 40 "--set over spec"
assert_eq "$(pids --pids 50 -s limits.pids_max=40 --spec "$tmp/spec" -p '{"MAX_THREADS": 20}')" 50 "flag first"
assert_eq "$(pids -p '{"MAX_THREADS": 20}' --spec "$tmp/spec" -s limits.pids_max=40 --pids 50)" 50 "flag last"
assert_eq "$(pids --pids 50 --pids 60)" 60 "the last of two flags"
assert_eq "$(pids -p '{"TIMEOUT": 5}')" 10 "what the preset does not say stays the environment's"

export SANDBOX_ENV_PRESETS='{"MAX_THREADS": "x"}'
run -- true
assert_status 2
assert_contains "$stderr" MAX_THREADS
export SANDBOX_ENV_PRESETS='not json'
run -- true
assert_status 2
assert_contains "$stderr" SANDBOX_ENV_PRESETS
unset SANDBOX_ENV_PRESETS
export SANDBOX_TIMEOUT=7
run -- true
assert_eq "$(json .limits.wall_ms)" 7000 "SANDBOX_TIMEOUT"
export SANDBOX_TIMEUOT=7
run -- true
assert_status 0
assert_contains "$stderr" SANDBOX_TIMEUOT
unset SANDBOX_TIMEUOT
# What is known and does nothing here is told as that.
SANDBOX_HOSTILE_STRATEGY_HOOK=x SANDBOX_STUB_PLUGINS=/x SANDBOX_EC_NULLS=off run -- true
assert_status 0
assert_eq "$(grep -c warning <<<"$stderr")" 1 "warnings"
assert_contains "$stderr" 'nothing of this version acts on the variable "SANDBOX_HOSTILE_STRATEGY_HOOK" of the environment'
