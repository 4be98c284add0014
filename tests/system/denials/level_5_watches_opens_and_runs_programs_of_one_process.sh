#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Level 5 watches every open without being asked to
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

run --level 5 --lang python -c '
print(open("/etc/hostname").read().strip())
for path, mode in (("/etc/shadow", "r"), ("/usr/x", "w")):
    try:
        open(path, mode)
    except OSError as e:
        print(e.strerror)
'
assert_status 0
assert_eq "$stdout" "sandbox
No such file or directory
Read-only file system"
assert_eq "$(json '[.denials.rows[] | select(.object == "/etc/shadow")][0].allow')" "--ro /etc/shadow"
assert_eq "$(json '[.denials.rows[] | select(.object == "/usr/x")][0].errno.name')" EROFS
assert_eq "$(json .receipt.seccomp.level)" 5
