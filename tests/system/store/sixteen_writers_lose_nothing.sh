#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sixteen menace-run at a time, and readers that take records in meanwhile: every
# run is there once, and the chain is whole
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

runs=64
seq $runs | xargs -P 16 -I{} "$MENACE_RUN" -q -o "$tmp/result.{}" -- sh -c 'exit 7' &
writers=$!
kill_quietly()
{
	kill "$1" 2>/dev/null
}
at_exit kill_quietly $writers
wait_until 30 test -s "$store.spool" || fail "nothing is kept"
while kill -0 $writers 2>/dev/null; do
	"$MENACE" runs >/dev/null 2>"$tmp/readers" || fail "a reader failed: $(cat "$tmp/readers")"
done
wait $writers
assert_eq "$(count_runs)" $runs "runs in the store"
assert_eq "$("$MENACE" runs --all --json | gojq -r 'select(.exit_code == 7) | .run_id' | sort)" \
	"$(cat "$tmp"/result.* | gojq -r .run_id | sort)" "run ids"
assert_eq "$(cat "$tmp"/result.* | gojq -r .store.state | sort -u)" queued "states"
assert_verified
assert_contains "$stdout" "$runs rows of the chain and $runs runs are as they were written"
assert_eq "$(find "$tmp/kept" -name '*.spool*' -o -name '*.aside')" "" "files of the spool"
