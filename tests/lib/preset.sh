# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of presets share; after system.sh

MENACE=${MENACE:-$repo/build/bin/menace}
[ -x "$MENACE" ] || fail "no $MENACE: build first, or set MENACE"
# None of these may come from whoever runs the tests.
unset PRESET_SEED SANDBOX_INCLUDE_USER_MISUSE SANDBOX_PRESET_MODE ALLOW_USER_MISUSE_PRESETS \
	SANDBOX_SETTINGS_YAML SANDBOX_REPO_PATH

# preset VERB...: sets $status, $stdout, $stderr.
preset()
{
	run_plain "$MENACE" preset "$@"
}
