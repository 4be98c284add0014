#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a policy denied while another was learned is not part of it, and no word of the program
# makes a path of the host part of a record

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root
need_system_program python3

policy '"paths": [{"path": "/usr/", "access": ["read", "execute", "list"]},
	{"path": "/lib64/", "access": ["read", "execute"]},
	{"path": "/lib/", "access": ["read", "execute"]},
	{"path": "/etc/ld.so.cache", "access": ["read"]}]'
mv "$tmp/policy.json" "$tmp/first.json"
learn --policy "$tmp/first.json" -- cat /etc/ld.so.cache /etc/passwd
assert_status 0
assert_eq "$(gojq -r '.paths[].path | select(startswith("/etc/"))' "$tmp/policy.json")" \
	/etc/ld.so.cache "paths of /etc that were learned"

# Our /proc is not the program's: up from its entry are everybody's.
echo host >"$tmp/host"
chmod 755 "$tmp"
chmod 644 "$tmp/host"
cat >"$tmp/a.py" <<'END'
import sys
for way in sys.argv[1:]:
    try:
        open(way)
    except OSError as e:
        print(e.errno)
END
run --record-access --ro "$tmp/a.py:/a.py" -- python3 /a.py "/proc/self/../$$/root$tmp/host" \
	"/proc/thread-self/../../../$$/root$tmp/host" "/dev/fd/../../$$/root$tmp/host"
assert_status 0
assert_eq "$stdout" "2
2
2" "errors of the program"
assert_not_contains "$(json '.access.paths[].path')" host
assert_eq "$(json .access.complete)" false "complete"
run --record-access --ro "$tmp/a.py:/a.py" -- python3 /a.py /proc/self/status /proc/self/..x
assert_eq "$(json .access.complete)" true "complete"

# What lies behind its working directory is the sandbox's; behind a second such link nobody knows.
run --record-access -- sh -c 'cd /etc && cat /proc/self/cwd/passwd'
assert_contains "$(json '.access.paths[].path')" /etc/passwd
assert_eq "$(json .access.complete)" true "complete"
# shellcheck disable=SC2016 # the program's
run --record-access -- sh -c 'cd "/proc/$$" && cat /proc/self/cwd/root/etc/passwd'
assert_status 0
assert_eq "$(json .access.complete)" false "complete"
