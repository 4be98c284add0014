#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Of a wide workspace user_misuse looks at so much for configurations and no more, in the same order each time, and tells it

. "${0%/*}/../../lib/system.sh"

need_root
with_own_mounts

failure()
{
	json ".failures[] | select(.mode == \"user_misuse\") | $1"
}

# Where files cost little.
mkdir "$tmp/wide"
mount -t tmpfs menace-test "$tmp/wide" || fail "cannot mount a tmpfs"
(cd "$tmp/wide" && mkdir a b c && touch a/{00001..05000} b/{00001..05000} c/{00001..12000} &&
	echo x=1 | tee a/one.ini >b/two.ini && echo x=1 >c/three.ini)
run --workspace "$tmp/wide" --set failure.seed=1 --preset '{"INVALID_CONFIG": true}' -- true
assert_eq "$(failure '"\(.cut) \([.changes[].path] | join(" "))"')" "true /work/a/one.ini /work/b/two.ini"
rm -r "$tmp/wide/b"
run --workspace "$tmp/wide" --set failure.seed=1 --preset '{"INVALID_CONFIG": true}' -- true
assert_eq "$(failure '"\(.cut) \([.changes[].path] | join(" "))"')" "null /work/a/one.ini /work/c/three.ini"
