#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ten thousand denials of one kind are one row with their exact number, and the
# sums agree
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/deny-many"

run --ro "$MENACE_HELPERS/deny-many:/deny" -t "$(scaled 60)" -- /deny same 10000
assert_status 0
assert_eq "$stdout" "denied 10000"
assert_eq "$(json '.denials | "\(.total) \(.dropped) \(.by_layer.seccomp) \(.rows | length) \(.rows[0].count)"')" \
	"10000 0 10000 1 10000"

# From many processes at once.
run --ro "$MENACE_HELPERS/deny-many:/deny" -t "$(scaled 60)" -- \
	sh -c 'for i in 1 2 3 4 5 6 7 8; do /deny same 250 & done; wait'
assert_status 0
assert_eq "$(json '.denials | "\(.total) \(.rows[0].count)"')" "2000 2000"
