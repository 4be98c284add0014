#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-28185 for menace learn: the program puts a link in place of the folder that
# its policy is to be written to
# security

. "${0%/*}/../../lib/system.sh"

mkdir -p "$tmp/rw/sub" "$tmp/host"
chmod 777 "$tmp/rw" "$tmp/rw/sub"
run_plain "$MENACE" learn -o "$tmp/rw/sub/policy.json" --rw "$tmp/rw:/rw" -- sh -c "
	mv /rw/sub /rw/was && ln -s '$tmp/host' /rw/sub"
assert_status 0
assert_eq "$(readlink "$tmp/rw/sub")" "$tmp/host" "the planted link"
assert_eq "$(ls -A "$tmp/host")" "" "names in the host's folder"
assert_eq "$(jq -r .schema "$tmp/rw/was/policy.json")" menace.policy/1 "the policy"

# What cannot be written is known before the program runs.
run_plain "$MENACE" learn -o "$tmp/none/policy.json" --rw "$tmp/rw:/rw" -- touch /rw/ran
assert_status 2
assert_contains "$stderr" "open the folder of $tmp/none/policy.json: No such file or directory"
assert_absent "$tmp/rw/ran"
