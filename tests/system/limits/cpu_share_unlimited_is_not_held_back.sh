#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without a share, and with "unlimited", nothing is throttled
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

for options in "" "--cpus=unlimited"; do
	# shellcheck disable=SC2086 # none or one word
	run_helper $options -- eat-cpu 100
	assert_at_ease
	assert_eq "$(json .limits.cpus)" unlimited "limit"
	assert_match "$(json .usage.cpu.throttled_us)" '^(0|null)$' "throttled"
	assert_match "$(json .receipt.cgroup.limits.cpu_quota_us.value)" '^(null|unlimited)$' "quota"
done
