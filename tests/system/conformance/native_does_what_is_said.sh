#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every behaviour of tests/conformance, natively; where all is slow (an emulated machine, sanitizers)
# those that differ most between kernels.  The table itself is judged first: no stated loss without a behaviour that shows it.
#
# kernel

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
need_system_program python3 perl
need_program python3

subset=()
[ "$MENACE_SLOWDOWN" -eq 1 ] || subset=(--subset)
"$repo/tests/conformance/run" --check || fail "the table of behaviours"
"$repo/tests/conformance/run" --backend native "${subset[@]}" || fail "a behaviour is another one"
