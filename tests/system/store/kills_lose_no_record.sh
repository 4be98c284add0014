#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace killed by SIGKILL while it takes records in, again and again: in the end
# each of them is there once, and the chain is whole

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

records=1500
run -- true
line=$(grep -a '^mr1 ' "$store.spool")
payload=${line#mr1 * * }
id=$(json .run_id)
rm "$store.spool"
python3 - "$payload" "$id" $records >"$store.spool" <<'END'
import hashlib, sys
payload, run, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
for i in range(n):
    text = payload.replace(run, run[:-5] + "%05d" % i)
    print("\nmr1 %d %s %s" % (len(text.encode()), hashlib.sha256(text.encode()).hexdigest(), text))
END
chmod 600 "$store.spool"
killed=0
for i in 01 02 03 05 08 10 13 15 18 20 22 25; do
	timeout -s KILL "0.$i" "$MENACE" ingest >/dev/null 2>&1
	[ $? -ne 137 ] || killed=$((killed + 1))
done
assert_ge $killed 5 "kills that hit"
menace ingest
assert_status 0
assert_eq "$(count_runs)" $records "runs"
assert_verified
assert_contains "$stdout" "$records rows of the chain"
assert_eq "$(find "$tmp/kept" -name '*.spool*' -o -name '*.aside')" "" "files of the spool"
