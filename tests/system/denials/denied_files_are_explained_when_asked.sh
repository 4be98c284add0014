#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --explain-denials says why an open failed and what would allow it; opens that
# work, or that fail on any host, are no denials
# security

. "${0%/*}/../../lib/system.sh"

need_root

echo secret >"$tmp/host-only"
stat /etc/shadow >/dev/null # the kernel shall know it
run --explain-denials -- sh -c "
	cat /etc/shadow; cat '$tmp/host-only'; echo x >/usr/new; echo x >/usr/bin/env
	cat /nowhere/at/all; cat /etc/passwd >/dev/null; echo x >/work/f; echo x >/tmp/f; echo x >/dev/null
	ls /root; true"
assert_status 0
row()
{
	json "[.denials.rows[] | select(.object == \"$1\" and .layer == \"mount\")][0] |
		\"\(.errno.name) | \(.rule) | \(.allow)\""
}
assert_eq "$(row /etc/shadow)" "ENOENT | not in the sandbox | --ro /etc/shadow"
assert_eq "$(row "$tmp/host-only")" "ENOENT | not in the sandbox | --ro $tmp/host-only"
assert_match "$(row /usr/new)" "^EROFS \| "
assert_match "$(row /usr/bin/env)" "^EROFS \| read-only mount"
assert_eq "$(json '[.denials.rows[] | select(.object == "/nowhere/at/all" or .object == "/etc/passwd" or
	.object == "/work/f" or .object == "/tmp/f" or .object == "/dev/null")] | length')" 0 "false denials"

# Without it the record costs nothing and holds nothing of the kind.
run -- sh -c 'cat /etc/shadow; true'
assert_eq "$(json .denials.total)" 0 "denials without it"

# The allowance that is named works.
run --ro "$tmp/host-only" -- cat "$tmp/host-only"
assert_eq "$status:$stdout" 0:secret
