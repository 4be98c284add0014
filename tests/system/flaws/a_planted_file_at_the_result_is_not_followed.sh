#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-28185: what the runtime writes goes through a link planted in its place
# security

. "${0%/*}/../../lib/system.sh"

mkdir "$tmp/rw" "$tmp/host"
chmod 777 "$tmp/rw"
echo "host file" >"$tmp/host/file"

# Planted by an earlier run, which may write there.
run --rw "$tmp/rw:/rw" -- ln -s "$tmp/host/file" /rw/result.json
assert_status 0
[ -L "$tmp/rw/result.json" ] || fail "no link was planted"
(echo "through the link" >"$tmp/rw/result.json")
assert_eq "$(cat "$tmp/host/file")" "through the link" "control: a plain write"
echo "host file" >"$tmp/host/file"

refused()
{
	run_plain "$MENACE_RUN" -o "$tmp/rw/result.json" -- echo ran
	assert_refused "--json $tmp/rw/result.json: $1"
	assert_eq "$(cat "$tmp/host/file")" "host file" "the file behind"
}
refused "Too many levels of symbolic links"
ln -sfn "$tmp/host/new" "$tmp/rw/result.json"
refused "Too many levels of symbolic links"
assert_absent "$tmp/host/new"
rm "$tmp/rw/result.json"
mkdir "$tmp/rw/result.json"
refused "Is a directory"
rmdir "$tmp/rw/result.json"

# A fifo would hold us until somebody reads, which is for ever.
mkfifo "$tmp/rw/result.json"
refused "a fifo that nobody reads"
rm "$tmp/rw/result.json"

# Planted while the run goes on: the link is replaced, and nothing is written through it.
run_plain "$MENACE_RUN" -q -o "$tmp/rw/result.json" --rw "$tmp/rw:/rw" -- sh -c "
	ln -s '$tmp/host/file' /rw/result.json"
assert_status 0
assert_eq "$(cat "$tmp/host/file")" "host file" "the file behind"
[ -L "$tmp/rw/result.json" ] && fail "the planted link is still there"
assert_eq "$(jq -r .schema "$tmp/rw/result.json")" menace.result/1 "the result"

# What the payload writes under the result's name does not stay.
run_plain "$MENACE_RUN" -q -o "$tmp/rw/result.json" --rw "$tmp/rw:/rw" -- sh -c '
	head -c 100000 /dev/zero >/rw/result.json; echo "{\"reason\":\"exited\"}" >>/rw/result.json'
assert_eq "$(jq -s -r 'length, .[0].schema' "$tmp/rw/result.json" | tr '\n' ' ')" \
	"1 menace.result/1 " "documents in the result"
