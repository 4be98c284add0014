#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The suite of behaviours fails where one is not as it must be, where what is around it fails, and where nothing
# was looked at
#

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
need_program python3

# suite TABLE's lines, on standard input: what the suite says of them, without its own rows of others.
suite()
{
	{
		echo "behaviour made/up"
		cat
	} >"$tmp/table"
	run_plain "$repo/tests/conformance/run" --backend native --table "$tmp/table" --only 'made/up'
}

suite <<'TABLE'
	given
		echo before >file
	run -- true
	then
		cat file
	show [.reason, .run.then]
	is ["exited","before\n"]
TABLE
assert_eq "$status $stdout" "0 ok   made/up
native: 1 behaviours, 1 as they must be, 0 not"

suite <<'TABLE'
	run -- true
	show .reason
	is "timeout"
TABLE
assert_status 1
assert_contains "$stdout" '.reason is "exited" instead of "timeout"'

suite <<'TABLE'
	run -- true
	then
		cat no-such-file
		true
	show .reason
	is "exited"
TABLE
assert_status 1
assert_contains "$stdout" "FAIL made/up"
assert_contains "$stdout" "then: status 1: cat: no-such-file: No such file or directory"

suite <<'TABLE'
	given
		cat no-such-file
		true
	run -- true
	show .reason
	is "exited"
TABLE
assert_status 1
assert_contains "$stdout" "given: status 1: cat: no-such-file: No such file or directory"

for words in "--backend native --only TYPO" "--only TYPO" "--only TYPO --check" "--backend qemu --subset --only no_utf8"; do
	# shellcheck disable=SC2086 # words
	run_plain "$repo/tests/conformance/run" $words
	assert_status 2
	assert_contains "$stderr" "no behaviour has such a name" "$words"
done
run_plain "$repo/tests/conformance/run" --backend native --only '('
assert_status 2
assert_contains "$stderr" "--only (: "
