#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that now and then says something is not idle
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

# A busy machine may keep it from saying anything for as long as that.
for limit in 400 "${time_limits[@]:1}"; do
	pause=$(printf '%d.%03d' $((limit / 4000)) $((limit / 4 % 1000)))
	run -t unlimited --idle-timeout "${limit}ms" -- sh -c "for i in 1 2 3 4 5 6 7; do sleep $pause; echo \$i; done"
	[ "$status" -ne 0 ] || break
done
assert_at_ease
assert_eq "$(tail -n 1 "$tmp/stdout")" 7
