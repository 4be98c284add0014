#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace killed by SIGKILL when it has said that it is taking records in: what it took is there, the next one takes
# the others, and the chain is whole
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_program python3
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 50)
export ON_A_TERMINAL_SECONDS TERM=xterm

records=300
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
install -m 600 "$tmp/spool" "$store.spool"
# An ingest that is done within the third of a second before the first word of it cannot be killed there.
run_plain "$MENACE_HELPERS/on-a-terminal" "expect=records taken in: " kill=9 -- "$MENACE" ingest
assert_match "$stderr" '^status (137|0|99)' "the ingest"
menace ingest
assert_status 0
assert_eq "$(count_runs)" $records "runs"
assert_verified
assert_contains "$stdout" "$records rows of the chain"
assert_eq "$(find "${store%/*}" -name '*.spool*' -o -name '*.aside')" "" "files of the spool"
