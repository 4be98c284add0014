#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that does something new after it was learned is denied that, and told what
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root
need_system_program python3

cat >"$tmp/a.py" <<'END'
import os, sys
def attempt(what):
    try:
        return what()
    except OSError as e:
        return e.strerror
print(len(os.listdir("/usr/share")) > 0)
if len(sys.argv) > 1:
    print(attempt(lambda: open("/etc/passwd").read(4)))
    print(attempt(lambda: open("/work/new", "w")))
    print(attempt(lambda: os.listdir("/etc")))
    print(attempt(lambda: os.mkdir("/tmp/d")))
    print(attempt(lambda: os.execv("/bin/cat", ["cat", "/etc/hosts"])))
    print(attempt(lambda: os.sched_setaffinity(0, [0])))
END
learn --ro "$tmp/a.py:/a.py" -- python3 /a.py
assert_status 0
enforced --ro "$tmp/a.py:/a.py" -- python3 /a.py new
assert_status 0
assert_eq "$stdout" "True
Permission denied
Permission denied
Permission denied
Operation not permitted
Operation not permitted
Operation not permitted" "output"
assert_eq "$(denials)" "landlock openat /etc/
landlock openat /etc/passwd
landlock openat /work/
seccomp execve null
seccomp mkdir null
seccomp sched_setaffinity null" "denials"
row()
{
	json ".denials.rows[] | select(.what == \"$1\" and .object == $2) | .$3"
}
assert_eq "$(row openat '"/etc/passwd"' allow)" 'read for /etc/passwd in "paths" of the policy'
assert_eq "$(row openat '"/etc/passwd"' errno.name)" EACCES
assert_eq "$(row openat '"/work/"' reason)" 'the policy does not grant this path: write, make'
assert_eq "$(row mkdir null allow)" '"mkdir" in "syscalls" of the policy'
assert_eq "$(row mkdir null comm)" python3
