#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run that ends before it began, in the last slot there is, does not keep the next request waiting
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
need_unprivileged_user

# Without a control group, which this user cannot make, no run begins.
chmod 755 "$tmp"
mkfifo "$tmp/in" "$tmp/out"
XDG_RUNTIME_DIR='' "${as_user[@]}" "$MENACE_RUN" --batch --jobs 1 <"$tmp/in" >"$tmp/out" 2>"$tmp/stderr" &
pid=$!
exec 5>"$tmp/in" 6<"$tmp/out"
for i in 1 2 3; do
	echo '{"schema": "menace.spec/1", "program": ["true"], "sandbox": {"backend": "native"}}' >&5
	read -r -t "$(scaled 30)" line <&6 || fail "no result of request $i: $(cat "$tmp/stderr")"
	assert_eq "$(gojq -r '.error.message | contains("control group")' <<<"$line")" true "$line"
done
exec 5>&-
wait "$pid"
assert_eq "$?" 125 "exit status"
