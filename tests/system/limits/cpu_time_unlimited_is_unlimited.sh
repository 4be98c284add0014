#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No limit is the default, and can be said
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --cpu-time unlimited -- eat-cpu 100
assert_at_ease
assert_eq "$(json .limits.cpu_time_ms)" unlimited "limit"
