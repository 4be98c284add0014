#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same in a user namespace whose owner is the caller (CVE-2022-0185, CVE-2024-1086):
# none of its rights reach the payload
# security

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_unprivileged_user
need_file "$helpers/attack-kernel"
install -m 755 "$helpers/attack-kernel" "$helpers/probe-syscalls" "$tmp/"
install -d -o 65534 -g 65534 "$tmp/user"
export XDG_RUNTIME_DIR=$tmp/user
ours=("${as_user[@]}" "$MENACE_RUN" -q --best-effort cgroup)

run_plain "${as_user[@]}" unshare -U -r -m "$tmp/attack-kernel"
assert_ge "$(grep -c ' OK$' "$tmp/stdout")" 15 "control: calls that work in a user namespace"

for options in "" "--level 2" "--uid 0 --gid 0"; do
	# shellcheck disable=SC2086 # words
	run_plain "${ours[@]}" $options --ro "$tmp/attack-kernel:/a" -- /a
	assert_eq "$(grep ' OK$' "$tmp/stdout")" "" "calls that work with '$options'"
	assert_status 0
done
run_plain "${ours[@]}" --ro "$tmp/probe-syscalls:/p" -- /p
assert_eq "$(grep ' expected ' "$tmp/stdout")" "" "calls not denied"
assert_status 0
run_plain "${ours[@]}" -- sh -c 'unshare -U -r true; unshare -U true'
assert_ne "$status" 0 "status of a user namespace inside"
