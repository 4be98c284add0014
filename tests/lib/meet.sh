# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests of two runs that must not meet share; after system.sh

# Puts the helper in $tmp/meet, where it can be shown to runs of any user.
need_meet()
{
	local helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}

	need_root
	need_file "$helpers/meet"
	install -m 755 "$helpers/meet" "$tmp/meet" || fail "cannot copy $helpers/meet"
}
