#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2021-30465, CVE-2024-45310: what was checked is exchanged for a link before it
# is mounted
# security
# lane: soak (both sides of a race must be met)

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_root
need_program busybox
need_file "$helpers/flip-link"
mkdir -p "$tmp/root/bin" "$tmp/root/flip" "$tmp/work/flip" "$tmp/secret" "$tmp/source"
cp "$(command -v busybox)" "$tmp/root/bin/busybox"
echo "leaked" >"$tmp/secret/file"
echo "leaked" >"$tmp/secret-file"
touch "$tmp/root/flip-file"
ln -s "$tmp/secret" "$tmp/root/other"
ln -s "$tmp/secret-file" "$tmp/root/other-file"
ln -s "$tmp/secret" "$tmp/work/other"
find "$tmp/secret" "$tmp/secret-file" -printf '%p %m %T@\n' >"$tmp/before"

# meet STARTED REFUSED PATH OTHER OPTIONS...: start often while the two are exchanged, until so many were started and so
# many refused: whoever exchanges them may be kept waiting on either side.
meet()
{
	local flipper i end want_started=$1 want_refused=$2

	shift 2

	: >"$tmp/flips" # of this flipper, not of the one before
	"$helpers/flip-link" "$1" "$2" >"$tmp/flips" &
	flipper=$!
	wait_until 20 grep -q flipping "$tmp/flips" || fail "nothing flips"
	shift 2
	started=0
	refused=0
	end=$(($(now_ms) + $(scaled 50000)))
	for ((i = 0; i < 30 || ((started < want_started || refused < want_refused) && $(now_ms) < end); i++)); do
		run_plain "$MENACE_RUN" -q "$@"
		assert_not_contains "$stdout" leaked "output of start $i"
		assert_match "$status" '^(0|2|125)$' "status of start $i"
		[ "$status" -ne 0 ] || started=$((started + 1))
		[ "$status" -ne 2 ] || refused=$((refused + 1))
	done
	kill "$flipper" || fail "the flipping has ended"
	wait "$flipper" 2>/dev/null
	assert_ge "$started" "$want_started" "starts while $1 $2 ... flips"
	assert_ge "$refused" "$want_refused" "refused starts while $1 $2 ... flips"
}
look='busybox cat /flip/file /other/file /flip-file /other-file; exit 0'
meet 5 0 "$tmp/root/flip" "$tmp/root/other" --root "$tmp/root" -- /bin/busybox sh -c "$look"
meet 5 0 "$tmp/root/flip-file" "$tmp/root/other-file" --root "$tmp/root" -- /bin/busybox sh -c "$look"
# Both sides of the race are met.
meet 1 1 "$tmp/work/flip" "$tmp/work/other" --workspace "$tmp/work" --ro "$tmp/source:/work/flip/new" -- \
	sh -c 'cat /work/flip/file /work/other/file; exit 0'
find "$tmp/secret" "$tmp/secret-file" -printf '%p %m %T@\n' >"$tmp/after"
assert_eq "$(diff "$tmp/before" "$tmp/after")" "" "changes of the secret"
assert_eq "$(grep -c "$tmp" /proc/self/mountinfo)" 0 "mounts left on the host"
