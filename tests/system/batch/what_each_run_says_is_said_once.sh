#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A warning that every run of a batch would repeat is written once, and its count at the end; different
# ones are all written, and a run alone says what it always said
#

. "${0%/*}/../../lib/system.sh"

need_root

specs()
{
	for i in $(seq "$1"); do
		printf '{"schema": "menace.spec/1", "program": ["true"], "net": {"mode": "stub"}, "network_mocks": {"http://%s.example/": {"body": "x"}}}\n' \
			"$2${3:+$i}"
	done
}

# say_all N: what N at a time say.
say_all()
{
	run_plain "$MENACE_RUN" --batch -j "$1" --store none <"$tmp/specs"
	assert_status 0
}

# The same of each.
specs 5 same >"$tmp/specs"
say_all 2
assert_eq "$(gojq -s 'map(select(.exit.code == 0)) | length' "$tmp/stdout")" 5 "results"
assert_eq "$stderr" "menace-run: mock http://same.example/: was never asked
menace-run: 4 times more: mock http://same.example/: was never asked" "messages"

# Another of each, more of them than are kept in mind: none is lost, and none is said twice.
{
	specs 1 first
	specs 80 other each
	specs 1 other80
} >"$tmp/specs"
say_all 4
assert_eq "$(grep -c 'was never asked' "$tmp/stderr")" 82 "lines of 82 runs with 81 messages"
assert_eq "$(grep 'more' "$tmp/stderr")" \
	"menace-run: once more: mock http://other80.example/: was never asked" "the one that came twice"

# And one that is alone.
head -1 "$tmp/specs" >"$tmp/spec"
run_plain "$MENACE_RUN" --spec "$tmp/spec" --store none
assert_eq "$stderr" "menace-run: mock http://first.example/: was never asked" "message of one run"
