#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A variable of the environment that does nothing where it is set is said to, by menace as by menace-run: a gate
# that is none, or a typing error, would go unnoticed
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root

export SANDBOX_STUB_STATEGY=hostile SANDBOX_MISUSE_STUBS=1 SANDBOX_STUB_PROVIDERS=
menace preset generate --seed 1
assert_status 0
assert_contains "$stderr" 'SANDBOX_STUB_STATEGY'
assert_contains "$stderr" 'nothing of this version acts on the variable "SANDBOX_MISUSE_STUBS" of the environment'
assert_not_contains "$stderr" PROVIDERS "set to nothing"
menace flow list
assert_not_contains "$stderr" SANDBOX_ "of a command that heeds none"
unset SANDBOX_STUB_STATEGY SANDBOX_MISUSE_STUBS SANDBOX_STUB_PROVIDERS

# The option of a matrix that fails on what came to no verdict, by its variable.
menace scenario run --scenarios normal -- true
assert_status 0
assert_eq "$stderr" ""
SANDBOX_FAIL_ON_MISSING_SCENARIOS=1 menace scenario run --scenarios normal -- true
assert_status 1
SANDBOX_FAIL_ON_MISSING_SCENARIOS=maybe menace scenario run --scenarios normal -- true
assert_status 2
assert_contains "$stderr" SANDBOX_FAIL_ON_MISSING_SCENARIOS

# A preset of the environment would be in both arms; a seed of the environment decides where none is given.
SANDBOX_ENV_PRESETS='{"CPU_LIMIT": 1}' menace scenario run --scenarios normal -- true
assert_contains "$stderr" "SANDBOX_ENV_PRESETS is not taken, for it would be in both arms: give it as a scenario by --preset"
SANDBOX_STUB_SEED=77 menace scenario run --scenarios normal --json -- true
assert_eq "$(gojq .seed <<<"$stdout")" 77
SANDBOX_STUB_SEED=77 menace scenario run --scenarios normal -s 5 --json -- true
assert_eq "$(gojq .seed <<<"$stdout")" 5
