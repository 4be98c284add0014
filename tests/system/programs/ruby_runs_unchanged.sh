#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A script of ruby with a child process
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program ruby

cat >"$tmp/a.rb" <<'END'
puts [1,2,3].map { |x| x * x }.sum; puts `echo child`; puts Thread.new { 42 }.value
END
run "$tmp/a.rb"
assert_status 0
assert_eq "$stdout" "14
child
42"
assert_eq "$(json .denials.total)" 0 "denials"
