#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A batch whose specs cannot be read does not look like an empty one, nor does one that is asked for
# what only a single run has
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

mkdir "$tmp/folder" "$tmp/out"
run_plain "$MENACE_RUN" --batch <"$tmp/folder"
assert_eq "$status:$stdout:$stderr" "125::menace-run: standard input: Is a directory"
run_plain "$MENACE_RUN" --batch </proc/self/mem
assert_eq "$status:$stdout:$stderr" "125::menace-run: standard input: Input/output error"

echo '{"schema": "menace.spec/1", "program": ["touch", "/out/ran"]}' >"$tmp/specs"
for option in --spec --policy; do
	run_plain "$MENACE_RUN" --rw "$tmp/out:/out" --batch "$option" - <"$tmp/specs"
	assert_refused "$option: standard input is already read for --batch"
	assert_absent "$tmp/out/ran"
done
for option in --json="$tmp/result" --summary --dry-run; do
	run_plain "$MENACE_RUN" --rw "$tmp/out:/out" --batch "$option" <"$tmp/specs"
	assert_refused "${option%%=*}: not with --batch: "
	assert_absent "$tmp/out/ran"
	assert_absent "$tmp/result"
done
run_plain "$MENACE_RUN" --rw "$tmp/out:/out" --batch <"$tmp/specs"
assert_status 0
[ -e "$tmp/out/ran" ] || fail "it would not have been seen to run"

# Of one run, too, standard input is read once.
run_plain "$MENACE_RUN" --spec - --lang sh - <"$tmp/specs"
assert_refused "-: standard input is already read for --spec"
