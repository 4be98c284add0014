#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A payload that makes ten thousand different denials cannot grow us or the
# result, nor push the number of any of them out
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/deny-many"

run --ro "$MENACE_HELPERS/deny-many:/deny" -t "$(scaled 60)" -- \
	sh -c '/deny connect 10000; /deny same 7'
assert_status 0
assert_eq "$(json .denials.total)" 10007 "total"
assert_eq "$(json '.denials.by_layer | "\(.network) \(.seccomp)"')" "10000 7" "by layer"
assert_le "$(json '.denials.rows | length')" 256 "rows"
assert_eq "$(json '[.denials.rows[].count, .denials.overflow[].count] | add')" 10007 "rows and overflow"
assert_eq "$(json '[.denials.overflow[].count] | add == '"$(json .denials.dropped)")" true "dropped"
assert_eq "$(json '.denials.overflow[] | select(.what == "unshare") | .count')" 7 "the few behind the flood"
assert_le "$(stat -c %s "$result")" 200000 "bytes of the result"
