#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 20 MB through a pipe

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

head -c 20000000 /dev/zero | "$MENACE_RUN" -o "$result" sha256sum >"$tmp/stdout"
assert_eq "${PIPESTATUS[1]}" 0 "exit status"
assert_eq "$(cat "$tmp/stdout")" "$(head -c 20000000 /dev/zero | sha256sum)"
