#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A script of lua with a child process
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program lua

cat >"$tmp/a.lua" <<'END'
print(6 * 7); print(io.popen("echo child"):read())
END
run "$tmp/a.lua"
assert_status 0
assert_eq "$stdout" "42
child"
assert_eq "$(json .denials.total)" 0 "denials"
