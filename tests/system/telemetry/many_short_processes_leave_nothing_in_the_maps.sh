#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same as short_processes_leave_nothing_in_the_maps.sh with twenty times the processes, more than any map has room for
#
# lane: soak (it is about the volume)

MENACE_SHORT_PROCESSES=$((100000 / (${MENACE_SLOWDOWN:-1} > 1 ? 20 : 1))) exec bash "${0%/*}/short_processes_leave_nothing_in_the_maps.sh"
