#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every behaviour of tests/conformance in containers, where each difference is a stated loss
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_system_program python3 perl
need_program python3
start_engine

"$repo/tests/conformance/run" --backend docker || fail "a difference is not stated"
[ "$(engine_containers)" -eq 0 ] || fail "containers are left"
