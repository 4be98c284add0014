#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is more specific wins, whatever was written first, and hiding always does
# security

. "${0%/*}/../../lib/system.sh"

mkdir -p "$tmp/a/b/c" "$tmp/b/c" "$tmp/c"
echo a >"$tmp/a/name"
echo b >"$tmp/b/name"
echo c >"$tmp/c/name"
echo secret >"$tmp/b/secret"
options=("--ro $tmp/a:/m" "--ro $tmp/b:/m/b" "--ro $tmp/c:/m/b/c" "--tmpfs /m/b/c" "--hide /m/b/secret")
permute()
{
	local -a done=("${@:2:$1}") rest=("${@:$(($1 + 2))}")
	local i

	if [ ${#rest[@]} -eq 0 ]; then
		# shellcheck disable=SC2086 # words
		run $(printf '%s ' "${done[@]}") -- sh -c 'cat /m/name /m/b/name /m/b/c/name /m/b/secret'
		assert_eq "$status $(tr '\n' ' ' <<<"$stdout")" "0 a b c " "order ${done[*]}"
		return
	fi
	for ((i = 0; i < ${#rest[@]}; i++)); do
		permute $((${#done[@]} + 1)) "${done[@]}" "${rest[i]}" "${rest[@]:0:i}" "${rest[@]:i+1}"
	done
}
permute 0 "${options[0]}" "${options[1]}" "${options[2]}" "${options[4]}"

# The same place twice is no question of order: it is refused.
run --ro "$tmp/a:/m" --rw "$tmp/b:/m" -- true
assert_refused "/m" "already taken by another mount"
run --ro "$tmp/a:/m" --hide /m -- true
assert_status 2
