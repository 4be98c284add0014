#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that computes without a word is not idle
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

# A busy machine may keep it from computing for as long as that.
for limit in 400 "${time_limits[@]:1}"; do
	run_helper -t unlimited --idle-timeout "${limit}ms" -- eat-cpu $((limit * 5 / 4))
	[ "$status" -ne 0 ] || break
done
assert_at_ease
