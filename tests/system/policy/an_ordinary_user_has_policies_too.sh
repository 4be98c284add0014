#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without root a policy is learned and enforced the same, and one that allows nothing still lets
# the program start; so does level 4

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_unprivileged_user
mkdir -m 777 "$tmp/u"
cd "$tmp/u" || exit 1
# As a user run and learn go to a folder of his own.
result=$tmp/u/result.json
as_user_run()
{
	rm -f "$result"
	run_plain "${as_user[@]}" "$MENACE_RUN" --best-effort cgroup -o "$result" "$@"
}

as_user_run --level 4 -- /bin/true
[ "$status" -ne 125 ] || skip "no user namespaces for ordinary users"
assert_status 0
run_plain "${as_user[@]}" "$MENACE" learn --margin 2000 -o "$tmp/u/policy.json" --best-effort cgroup -- \
	sh -c 'ls /usr | head -1; echo x >/tmp/a'
assert_status 0
expected=$stdout
as_user_run --policy "$tmp/u/policy.json" -- sh -c 'ls /usr | head -1; echo x >/tmp/a'
assert_status 0
assert_eq "$stdout" "$expected"
assert_eq "$(json .denials.total)" 0 "denials"
as_user_run --policy "$tmp/u/policy.json" -- sh -c 'cat /etc/passwd | head -1; echo x >/tmp/a'
assert_status 0
assert_eq "$stdout" ""
assert_contains "$(denials)" "landlock execve /usr/bin/cat"

echo '{"schema": "menace.policy/1", "syscalls": [], "paths": []}' >"$tmp/u/none.json"
as_user_run --policy "$tmp/u/none.json" -- /bin/true
assert_ne "$status" 0
assert_eq "$(json .receipt.policy.state)" enforced
assert_eq "$(json .error)" null "error of ours"
assert_contains "$(denials)" "seccomp brk null"
assert_not_contains "$(denials)" execve
