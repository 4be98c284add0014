#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that its own seccomp filter kills has the reason seccomp, for the kernel says so; one that
# sends itself the same signal has not

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_program python3
run -- python3 -c '
import ctypes, os, struct
libc = ctypes.CDLL(None)
getppid, kill, allow = 110, 0x80000000, 0x7fff0000
rows = [(0x20, 0, 0, 0), (0x15, 0, 1, getppid), (6, 0, 0, kill), (6, 0, 0, allow)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
prog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code)))
libc.prctl(38, 1, 0, 0, 0)
print(libc.prctl(22, 2, prog, 0, 0), flush=True)
os.getppid()'
assert_eq "$stdout" 0 "the filter's load"
assert_status 159
assert_reason seccomp

# shellcheck disable=SC2016
run -- sh -c 'kill -SYS $$; sleep 1000'
assert_status 159
assert_reason signaled
