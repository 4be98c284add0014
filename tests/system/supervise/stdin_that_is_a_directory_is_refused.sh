#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# It would be a way into the host's files

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_plain "$MENACE_RUN" -o "$result" cat <"$tmp"
assert_refused "standard input is a directory"
run --stdin "$tmp" -- cat
assert_refused "standard input is a directory"
