#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2026-30892: a user id that cannot be parsed became another user, root at worst
# security

. "${0%/*}/../../lib/system.sh"

for option in --uid --gid "-s sandbox.uid" "-s sandbox.gid"; do
	for id in "" 0x0 -1 1000: 4294967295 4294967296 18446744073709551616 " 1" "1 " 1000:0 root +1 \
		1e3 1.0 $'1\n' ٣ nan 0b1 "''" -0 99999999999999999999999; do
		case $option in
		-s*) run -s "${option#-s }=$id" -- id ;;
		*) run "$option" "$id" -- id ;;
		esac
		assert_status 2
		assert_eq "$stdout" "" "output with $option '$id'"
		assert_match "$stderr" "uid|gid" "message for $option '$id'"
	done
done
for id in '""' '"0x0"' -1 '"1000:"' 4294967295 '" 1"' 1.5 true '[]' 1e30; do
	printf '{"schema":"menace.spec/1","program":["id"],"sandbox":{"uid":%s}}' "$id" >"$tmp/spec.json"
	run --spec "$tmp/spec.json"
	assert_status 2
	assert_eq "$stdout" "" "output with the document's $id"
	assert_contains "$stderr" "sandbox.uid" "message for the document's $id"
done

# null is "not set": an id of its own.
printf '{"schema":"menace.spec/1","program":["id","-u"],"sandbox":{"uid":null,"gid":null}}' >"$tmp/spec.json"
run --spec "$tmp/spec.json"
assert_status 0
assert_ne "$stdout" 0 "user inside"

# Just inside is accepted, and is what it says.
need_root
for id in 1 1000 4294967294; do
	run --uid "$id" --gid "$id" -- sh -c 'id -u; id -g'
	assert_eq "$status $stdout" "0 $id"$'\n'"$id" "ids inside"
	assert_eq "$(json .receipt.identity.host_uid)" "$id" "user on the host"
done
for id in 0 00 000; do
	run --uid "$id" -- id
	assert_refused "without a user namespace this would be the host's root"
	run --uid 5 --gid "$id" -- id
	assert_status 2
done
run --userns --uid 0 -- id -u
assert_eq "$status $stdout" "0 0" "root of a user namespace"
assert_ne "$(json .receipt.identity.host_uid)" 0 "user on the host"
