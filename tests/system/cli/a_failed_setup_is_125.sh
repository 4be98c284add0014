#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What our side cannot set up ends with 125 and names the layer; the program
# never runs
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

mkdir "$tmp/root"
run --root "$tmp/root" -- true
case $status in
125 | 126 | 127) ;;
*) fail "an empty root gave status $status" ;;
esac
assert_reason setup_error

run --stdin "$tmp/missing" -- cat
assert_status 2
assert_contains "$stderr" "standard input $tmp/missing: No such file or directory"

run --stdin "$tmp/root" -- cat
assert_status 2
assert_contains "$stderr" "standard input is a directory"

run --ro "$tmp/missing:/m" -- true
assert_ne "$status" 0
assert_contains "$stderr" "$tmp/missing"
assert_reason setup_error
assert_eq "$(json .exit.code)" null "code"
