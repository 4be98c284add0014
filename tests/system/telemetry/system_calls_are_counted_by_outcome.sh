#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# At the level syscalls each call that returned is counted by its outcome, for that run
# alone, and nothing stays attached

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
code='import os
for i in range(1000): os.getppid()
for i in range(77):
    try: os.stat("/no/such/file")
    except OSError: pass'
run -q --telemetry default,+syscalls --lang python -c "$code"
assert_status 0
calls() { json "[.telemetry.syscalls[] | select($1) | .count] | add"; }
assert_eq "$(calls '.name == "getppid" and .errno == 0')" 1000 "calls of getppid"
assert_ge "$(calls '(.name == "newfstatat" or .name == "stat") and .errno == 2')" 77 "files that are not there"
assert_eq "$(json .telemetry.complete)" true complete
assert_books

# The same slot again: nothing of the run before.
run -q --telemetry syscalls -- true
assert_eq "$(calls '.name == "getppid"')" null "calls of getppid"
run -q -- true
assert_eq "$(json .telemetry.syscalls)" null "without the level"
