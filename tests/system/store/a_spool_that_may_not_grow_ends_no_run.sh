#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The caller may not make larger files than the spool is (ulimit -f): the kernel's signal for that
# ends neither a run nor a batch; the record goes elsewhere, and whoever waits is told why
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

limit_kib=1024
truncate -s ${limit_kib}K "$store.spool"
ulimit -S -f $limit_kib

run -- sh -c 'exit 3'
refuge=$(sed -n 's/.* is kept in \([^ ]*\) until .*/\1/p' "$tmp/stderr")
at_exit rm -f "$refuge"
assert_status 3
assert_match "$refuge" '^/run/menace/spool/[0-9a-f]{16}\.spool$' "refuge"
assert_contains "$stderr" "write record to $store.spool: File too large"

for i in 1 2 3; do
	echo "{\"schema\": \"menace.spec/1\", \"program\": [\"sh\", \"-c\", \"exit $i\"]}"
done >"$tmp/specs"
run_plain "$MENACE_RUN" --batch -j 1 <"$tmp/specs"
assert_status 0
assert_eq "$(gojq -c .exit.code "$tmp/stdout" | tr '\n' ' ')" "1 2 3 "

# Nor may the refuge: which runs are lost, and how many, is said; their results are as ever.
[ -f "$refuge" ] || fail "no refuge $refuge"
truncate -s ${limit_kib}K "$refuge"
run_plain "$MENACE_RUN" --batch -j 1 <"$tmp/specs"
assert_status 0
for id in $(gojq -r 'select(.store.state == "queued") | .run_id' "$tmp/stdout"); do
	assert_contains "$stderr" "the run is not kept: $id: write record to $refuge: File too large"
done
assert_eq "$(gojq -s 'map(select(.store.state == "queued")) | length' "$tmp/stdout")" 3 "queued"
assert_contains "$stderr" "3 runs are not kept"
truncate -s -$((limit_kib * 1024 - $(tr -d '\0' <"$refuge" | wc -c))) "$refuge"

# There is room for a part of it: that is torn, and said to be.
truncate -s $((limit_kib * 1024 - 100)) "$store.spool"
run -- sh -c 'exit 4'
assert_status 4
assert_match "$stderr" "write record to $store\.spool: it took 100 of [0-9]+ bytes" "stderr"

ulimit -S -f unlimited
menace ingest
assert_contains "$stdout" "5 taken in"
# Not by time: somebody may be setting the clock.
assert_eq "$("$MENACE" runs --json | gojq -r .exit_code | sort -n | tr '\n' ' ')" "1 2 3 3 4 "
assert_verified
