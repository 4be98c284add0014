#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace killed by SIGKILL while it takes records in, again and again: in the end
# each of them is there once, and the chain is whole
#
# lane: soak (kills at instants that only the time decides)
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

records=$((1500 / MENACE_SLOWDOWN))
run -- true
line=$(grep -a '^mr1 ' "$store.spool")
payload=${line#mr1 * * }
id=$(json .run_id)
python3 - "$payload" "$id" $records >"$tmp/spool" <<'END'
import hashlib, sys
payload, run, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
for i in range(n):
    text = payload.replace(run, run[:-5] + "%05d" % i)
    print("\nmr1 %d %s %s" % (len(text.encode()), hashlib.sha256(text.encode()).hexdigest(), text))
END
# kill_again_and_again: until all is taken in, which it is early where a kill came late.
kill_again_and_again()
{
	local i killed=0

	new_store
	install -m 600 "$tmp/spool" "$store.spool"
	for i in 01 02 03 05 08 10 13 15 18 20 22 25; do
		timeout -s KILL "0.$i" "$MENACE" ingest >/dev/null 2>&1
		[ $? -ne 137 ] || killed=$((killed + 1))
	done
	[ $killed -ge 5 ]
}
patiently kill_again_and_again || fail "hardly a kill hit"
menace ingest
assert_status 0
assert_eq "$(count_runs)" $records "runs"
assert_verified
assert_contains "$stdout" "$records rows of the chain"
assert_eq "$(find "${store%/*}" -name '*.spool*' -o -name '*.aside')" "" "files of the spool"
