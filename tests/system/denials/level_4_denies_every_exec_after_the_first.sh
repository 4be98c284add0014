#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# At level 4 the program runs, but starts no other; each attempt has its path in
# the record.  Memory that is writable and executable is denied
# security

. "${0%/*}/../../lib/system.sh"

need_root

run --level 4 -- sh -c 'echo builtin; /usr/bin/id; ls; echo "after $?"'
assert_status 0
assert_eq "$stdout" "builtin
after 126"
assert_eq "$(json '.denials.rows[] | select(.what == "execve") | "\(.object) \(.errno.name) \(.allow) \(.comm)"' |
	sed 's|^/usr/s*bin/|/|; s|^/s*bin/|/|' | sort -u)" "/id EPERM --level 3 sh
/ls EPERM --level 3 sh"
assert_eq "$(json .receipt.seccomp.level)" 4

run --level 3 -- sh -c '/usr/bin/true && echo ran'
assert_eq "$stdout" ran

need_system_program python3
run --level 4 --lang python -c '
import mmap, os
try:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    print("mapped")
except OSError as e:
    print(e.strerror)
pid = os.fork()
if pid == 0:
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
'
assert_status 0
assert_eq "${stdout//$'\n'/ }" "Operation not permitted 9"
