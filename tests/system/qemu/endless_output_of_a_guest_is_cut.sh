#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A guest that never stops to send, and ignores every limit: ours are kept from outside, and no
# more is kept of it than was asked for.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_virtiofsd
check_leaks
fake_kernel
fake_qemu floods

run --backend qemu --output-limit 10Mi -- true
assert_status 137
assert_reason output_limit
assert_eq "$(json '.limits_hit | join(" ")')" output "limits hit"
assert_ge "$(json .stdout.bytes)" 10485760
assert_le "$(json .stdout.bytes)" 12582912
assert_eq "$(json '.stdout.head | length')" 65536 "kept head"
assert_eq "$(json .diagnostics.attempts)" 1

run_plain env MENACE_RUN="$MENACE_RUN" bash -c 'set -o pipefail
	"$MENACE_RUN" --backend qemu -o "$1" --timeout 1s -- true | wc -c' sh "$result"
assert_status 124
assert_reason wall_timeout
assert_eq "$(json '.limits_hit | join(" ")')" wall "limits hit"
assert_eq "$(diagnostics vm_error)" timeout
assert_le "$elapsed_ms" "$(scaled 30000)" "time until the limit from outside"
assert_no_machine floods
