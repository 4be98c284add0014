#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A call that seccomp denies gives the errno of its rule, and a row with the
# call, the process, the rule, the reason and what would allow it
# security

. "${0%/*}/../../lib/system.sh"

need_root

run -- sh -c 'unshare -U true; echo $?'
assert_status 0
assert_eq "$stdout" 1
assert_contains "$stderr" "Operation not permitted"
assert_eq "$(json '.denials | "\(.total) \(.dropped) \(.rows | length) \(.by_layer.seccomp)"')" "1 0 1 1"
assert_eq "$(json '.denials.rows[0] | "\(.layer) \(.what) \(.comm) \(.errno.name) \(.errno.number) \(.rule) \(.count)"')" \
	"seccomp unshare unshare EPERM 1 namespace 1" "row"
assert_match "$(json '.denials.rows[0].pid')" '^[0-9]+$' "pid"
assert_ne "$(json '.denials.rows[0].reason')" null "reason"

need_system_program python3
run --lang python -c '
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(nr, *args):
    r = libc.syscall(nr, *args)
    return os.strerror(ctypes.get_errno()) if r < 0 else "allowed"
print(call(101, 0x7fffffff, 0, 0, 0))   # ptrace
print(call(165, 0, 0, 0, 0, 0))         # mount
print(call(600))                        # no such call
try:
    socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
except OSError as e:
    print(e.strerror)
'
assert_eq "$stdout" "Operation not permitted
Operation not permitted
Function not implemented
Address family not supported by protocol"
rows()
{
	json '.denials.rows[] | "\(.what) \(.errno.name) \(.count)"' | sort
}
assert_contains "$(rows)" "mount EPERM 1"
assert_contains "$(rows)" "ptrace EPERM 1"
assert_contains "$(rows)" "socket EAFNOSUPPORT 1"
assert_eq "$(json '.denials.rows[0].comm')" python3 "comm"
