#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A row that is edited, deleted, put in another place or cut off is named by audit
# verify; a cut tail needs a checkpoint that was kept elsewhere
#
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_program python3

for _ in 1 2 3 4 5; do
	"$MENACE_RUN" -q -- true || fail "no run"
done
mapfile -t ids < <(run_ids)
assert_eq ${#ids[@]} 5 "runs"
menace audit checkpoint --key "$tmp/key" --new-key -o "$tmp/checkpoint"
assert_status 0
key=$(gojq -r .public_key "$tmp/checkpoint")
assert_contains "$stderr" "public key $key"
assert_eq "$(stat -c %a "$tmp/key")" 600 "mode of the key"
cp "$store" "$tmp/good.db"
cp "$store-wal" "$tmp/good.db-wal"
put_back()
{
	rm -f "$store"*
	cp "$tmp/good.db" "$store"
	cp "$tmp/good.db-wal" "$store-wal"
}

edit "UPDATE usage SET cpu_us = 1 WHERE run_id = '${ids[1]}'"
assert_bad 2 "run ${ids[1]}: table usage, row 1: cpu_us is \"1\", the chain says"
assert_contains "$stdout" "1 rows of the chain and 1 runs are as they were written"
put_back
edit "DELETE FROM chain WHERE seq = 3"
assert_bad 3 "row 3 of the chain is gone"
put_back
edit "UPDATE chain SET seq = 9 WHERE seq = 2; UPDATE chain SET seq = 2 WHERE seq = 4; UPDATE chain SET seq = 4 WHERE seq = 9"
assert_bad 2 "row 2 of the chain is not in its place"
put_back
edit "UPDATE links SET body = replace(body, '\"exited\"', '\"seccomp\"') WHERE run_id = '${ids[4]}'"
assert_bad 5 "run ${ids[4]}: link 1 does not have its hash: it was changed"
put_back
edit "DELETE FROM steps WHERE run_id = '${ids[0]}' AND n = 3"
assert_bad 1 "run ${ids[0]}: table steps, row 4: n is \"4\", the chain says \"3\""

# What a workflow keeps of itself is in no chain, which is told.
put_back
assert_verified
assert_not_contains "$stdout" "not in the chain"
edit "INSERT INTO flows (name, folder, document, sha256, added_us) VALUES ('forged', '/', '{}', 'x', 1)"
assert_verified
assert_contains "$stdout" "1 rows of workflows, matrices and inputs are not in the chain and not judged"
menace audit verify --json
assert_eq "$(gojq .unchained "$tmp/stdout")" 1 "rows outside of the chain"

# The last run goes from every table: a bare chain cannot know.
put_back
tables=$("$MENACE" query "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'chain' AND sql LIKE '%run_id%'" | tail -n +2)
sql="DELETE FROM chain WHERE seq = 5;"
for table in $tables; do
	sql+="DELETE FROM $table WHERE run_id = '${ids[4]}';"
done
edit "$sql"
assert_verified
menace audit verify --checkpoint "$tmp/checkpoint" --public-key "$key"
assert_status 1
assert_contains "$stdout" "BAD at row 5: rows 5 to 5 of the chain are gone: the checkpoint has 5 rows"

put_back
menace audit verify -c "$tmp/checkpoint" -p "$key"
assert_status 0
assert_contains "$stdout" "proven up to row 5 by the checkpoint"

# A checkpoint without the key that was known before proves nothing.
menace audit verify -c "$tmp/checkpoint"
assert_refused "--checkpoint needs --public-key"
sed -i 's/"seq":5/"seq":4/' "$tmp/checkpoint"
menace audit verify -c "$tmp/checkpoint" -p "$key"
assert_refused "the checkpoint: is not signed by the key"
