#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# purge deletes what nobody holds, says who and why in the chain, and with a key
# seals what is left of the beginning
#
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

for _ in 1 2 3; do
	"$MENACE_RUN" -q -- true
done
mapfile -t ids < <(run_ids)
menace hold "${ids[1]}" --reason "case 12"
assert_eq "$stdout" "run ${ids[1]} is now held"
menace hold
assert_eq "$stdout" "${ids[1]} case 12"
menace hold --release
assert_refused "--release: of which run?"
menace hold --reason "case 13"
assert_refused "--reason: of which run?"
menace purge --all --dry-run
assert_eq "$stdout" "2 runs would go, 0 rows of the chain sealed"
assert_eq "$(count_runs)" 3
menace purge --before 1h
assert_eq "$stdout" "0 runs deleted, 0 rows of the chain sealed"
menace purge --all --reason "too old"
assert_eq "$stdout" "2 runs deleted, 0 rows of the chain sealed"
assert_eq "$(run_ids)" "${ids[1]}"
menace query "SELECT body ->> '$.data.reason' AS r, body ->> '$.data.uid' AS u FROM chain WHERE kind = 'purge'"
assert_eq "$(tail -n 1 "$tmp/stdout")" $'too old\t0'
assert_verified
assert_contains "$stdout" "0 rows are sealed, 2 runs purged"

# A table that somebody named like more SQL is emptied like the others, and no more is done.
edit 'CREATE TABLE "runs; DROP TABLE runs; --" (run_id TEXT)'
menace purge --all --dry-run
assert_status 0
menace audit checkpoint --key "$tmp/key" --new-key -o "$tmp/checkpoint"
menace hold "${ids[1]}" --release --reason "closed"
menace purge --all --key "$tmp/key"
assert_status 0
assert_contains "$stdout" "1 runs deleted, 6 rows of the chain sealed"
key=$(gojq -r .public_key "$tmp/checkpoint")
menace audit verify -c "$tmp/checkpoint" -p "$key"
assert_status 0
assert_eq "$(count_runs)" 0

# Of a row that went under a seal a checkpoint proves nothing, and that is said.
"$MENACE_RUN" -q -- true
menace audit checkpoint --key "$tmp/key" -o "$tmp/middle"
"$MENACE_RUN" -q -- true
menace audit checkpoint --key "$tmp/key" -o "$tmp/last"
menace purge --all --key "$tmp/key"
assert_status 0
menace audit verify -c "$tmp/middle" -p "$key"
assert_status 0
assert_contains "$stdout" "tail not provable: the row of the checkpoint lies in a sealed part"
menace audit verify -c "$tmp/middle" -p "$key" --json
assert_eq "$(gojq -c '[.good, .proven_seq, .checkpoint_sealed, .old_sealed]' <<<"$stdout")" \
	"[true,0,true,0]"

# A checkpoint in the place of a seal, as early versions had it, passes only where that is asked.
last=$(gojq -r .seq "$tmp/last")
edit "UPDATE segments SET document = '$(cat "$tmp/last")' WHERE last_seq = $last"
menace audit verify -p "$key"
assert_status 1
assert_contains "$stdout" "is a checkpoint: whoever had one can have put it in the place of the rows"
menace audit verify -p "$key" --old-seals
assert_status 0
assert_contains "$stdout" "$((last - 6)) of the sealed rows are sealed by a checkpoint"
