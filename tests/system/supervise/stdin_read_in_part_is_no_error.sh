#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The program closes its input while we feed it

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

head -c 10000000 /dev/zero >"$tmp/big"
run_plain "$MENACE_RUN" -o "$result" sh -c 'exec <&-; sleep 0.2; echo fine' <"$tmp/big"
assert_status 0
assert_eq "$stdout" fine
