#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sections of a file that nobody could look at were not run: that is told, and it is no success; whoever
# names a section gets that one
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program python3

r=$tmp/r
mkdir "$r"
echo 'def f(): return 1' >"$r/good.py"
menace sections run "$r" --json
assert_status 0
assert_eq "$(gojq -c .not_looked_at <<<"$stdout")" '{"count":0,"first":[],"missed":0}'
# Links and hidden files are left out by rule, which is told and no failure.
ln -s good.py "$r/link.py"
echo 'def no(): pass' >"$r/.hidden.py"
menace sections run "$r"
assert_status 0
assert_contains "$stdout" ".hidden.py: is hidden
link.py: is a symbolic link
1 sections, 1 returned, 0 did what nothing hints at, 0 passed by, 2 files not looked at"

printf 'x = 1\ndef broken(:\n' >"$r/bad.py"
menace sections run "$r" --json
assert_status 1
assert_eq "$(gojq -c '.not_looked_at | .count, .missed, .first[0]' <<<"$stdout")" '3
1
{"line":2,"path":"bad.py","why":"invalid syntax"}'
assert_eq "$(gojq -r '.sections[0].state' <<<"$stdout")" returned
menace sections run "$r"
assert_status 1
assert_contains "$stdout" "bad.py:2: invalid syntax"
menace sections run "$r" --match 'good*'
assert_status 1
menace sections run "$r" good.py:f
assert_status 0
assert_contains "$stdout" "bad.py:2: invalid syntax"
rm "$r/bad.py"
head -c $(((1 << 20) + 1)) /dev/zero | tr '\0' '#' >"$r/large.py"
menace sections run "$r"
assert_status 1
assert_contains "$stdout" "large.py: is over 1 MiB"
menace sections scan "$r"
assert_status 1
assert_contains "$stdout" "large.py: is over 1 MiB"
