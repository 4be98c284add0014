#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same as runs_at_once_are_kept_apart.sh with more runs, so that each of the slots is used again and again
#
# lane: soak (it is about the volume)

MENACE_TELEMETRY_RUNS=$((${MENACE_SLOWDOWN:-1} > 1 ? 32 : 160)) exec bash "${0%/*}/runs_at_once_are_kept_apart.sh"
