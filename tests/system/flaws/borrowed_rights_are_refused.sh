#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2020-5291: a set-user-ID helper could be driven by its caller.  Ours refuses to
# run with rights that its caller does not have
# security

. "${0%/*}/../../lib/system.sh"

# The leak checker can neither look at itself here nor read its options from /proc.
! grep -q -a __asan_init "$MENACE_RUN" || skip "a leak checker changes the exit status here"

need_unprivileged_user
install -d -o 65534 -g 65534 "$tmp/user"
export XDG_RUNTIME_DIR=$tmp/user
cp /usr/bin/id "$tmp/id"
chmod 4755 "$tmp/id"
run_plain "${as_user[@]}" "$tmp/id" -u
assert_eq "$status" 0 "control: status of id"
[ "$stdout" = 0 ] || skip "no set-user-ID programs in $tmp"

refused()
{
	run_plain "${as_user[@]}" "$tmp/menace-run" "$@"
	assert_status 125
	assert_eq "$stdout" "" "standard output"
	assert_contains "$stderr" "refusing to run set-user-ID or with file capabilities"
}
cp "$MENACE_RUN" "$tmp/menace-run"
for mode in 4755 2755 6755; do
	chmod $mode "$tmp/menace-run"
	refused -- id
	refused --version
	refused --best-effort cgroup --userns -- id
	refused -o "$tmp/user/result" -- id
	assert_absent "$tmp/user/result"
done

# Another owner than root.
chown 1:1 "$tmp/menace-run"
chmod 4755 "$tmp/menace-run"
refused -- id
chown 0:0 "$tmp/menace-run"
chmod 755 "$tmp/menace-run"
need_program setcap
for capability in cap_sys_admin+ep cap_net_admin+ep cap_dac_override+p cap_setuid+ei; do
	setcap "$capability" "$tmp/menace-run" || skip "no file capabilities in $tmp"
	case $capability in
	*ei) continue ;; # inheritable alone gives nothing to a caller without
	esac
	refused -- id
	refused --best-effort cgroup -- id
done

# Without them the same copy runs.
setcap -r "$tmp/menace-run"
run_plain "${as_user[@]}" "$tmp/menace-run" -q --best-effort cgroup -- echo ran
assert_eq "$status $stdout" "0 ran" "a plain copy"
