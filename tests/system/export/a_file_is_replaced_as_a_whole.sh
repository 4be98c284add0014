#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace export --output: the file is there whole or as it was before, nothing else is left in its
# folder, and nothing but a regular file is replaced
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root

put_records
mkdir "$tmp/out"
umask 022

menace export --format prometheus --output "$tmp/out/menace.prom"
assert_status 0
assert_eq "$stdout$stderr" ""
assert_eq "$(ls -A "$tmp/out")" menace.prom
assert_eq "$(stat -c %a "$tmp/out/menace.prom")" 644
"$MENACE" export --format prometheus | cmp - "$tmp/out/menace.prom" || fail "not what standard output gets"
(cd "$tmp/out" && "$MENACE" export --format prometheus -o -) | cmp - "$tmp/out/menace.prom" || fail "not what - gets"
(cd "$tmp/out" && "$MENACE" export --format ocsf -o events.json) || fail "in the working directory"
assert_eq "$(stat -c %a "$tmp/out/events.json")" 600 "rights of what has names in it"

# It takes the place of the old one, which readers still have.
exec 5<"$tmp/out/menace.prom"
"$MENACE" export --format prometheus --reason exited -o "$tmp/out/menace.prom"
assert_contains "$(cat <&5)" 'menace_runs_total{reason="oom"} 3'
assert_not_contains "$(<"$tmp/out/menace.prom")" menace_runs_total
exec 5<&-

# What cannot be exported leaves what was there.
before=$(<"$tmp/out/events.json")
edit "UPDATE links SET body = 'x'"
menace export --format jsonl --output "$tmp/out/events.json"
assert_status 125
assert_contains "$stderr" "a link is damaged"
assert_eq "$(<"$tmp/out/events.json")" "$before" "file"
menace export --run zzzz --output "$tmp/out/never"
assert_status 1
menace export --format prometheus --output "$tmp/nowhere/x"
assert_refused "--output: open the folder of $tmp/nowhere/x: No such file or directory"
menace export --format prometheus --output "$tmp/out/"
assert_refused "names no file"
assert_eq "$(cd "$tmp/out" && find . -type f | sort)" "./events.json
./menace.prom"

mkfifo "$tmp/out/fifo"
ln -s menace.prom "$tmp/out/link"
for other in fifo link .; do
	menace export --format prometheus --output "$tmp/out/$other"
	assert_refused "$tmp/out/$other is there and is not a regular file"
done
menace export --format prometheus --output /dev/null
assert_refused "/dev/null is there and is not a regular file"
[ -c /dev/null ] || fail "/dev/null was replaced"
[ -L "$tmp/out/link" ] && [ -p "$tmp/out/fifo" ] || fail "something was replaced"

# A full disk.
need_program unshare mount
mkdir "$tmp/small"
# shellcheck disable=SC2016 # for the shell inside
run_plain unshare --mount --propagation private sh -c 'mount -t tmpfs -o size=64k none "$1" &&
	echo old >"$1/x" && "$2" export --format ocsf --output "$1/x"; echo $? $(ls -A "$1") $(cat "$1/x")' \
	sh "$tmp/small" "$MENACE"
assert_eq "$stdout" "125 x old"
assert_contains "$stderr" "No space left on device"
