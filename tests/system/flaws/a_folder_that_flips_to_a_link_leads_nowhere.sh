#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2021-30465, CVE-2024-45310: what was checked is exchanged for a link before it
# is mounted

. "$(dirname "$0")/../../lib/system.sh"

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

# meet PATH OTHER OPTIONS...: start often while the two are exchanged; counts the ends.
meet()
{
	local flipper i

	"$helpers/flip-link" "$1" "$2" >"$tmp/flips" &
	flipper=$!
	wait_until 5 grep -q flipping "$tmp/flips" || fail "nothing flips"
	shift 2
	started=0
	refused=0
	for ((i = 0; i < 30; i++)); do
		run_plain "$MENACE_RUN" -q "$@"
		assert_not_contains "$stdout" leaked "output of start $i"
		assert_match "$status" '^(0|2|125)$' "status of start $i"
		[ "$status" -ne 0 ] || started=$((started + 1))
		[ "$status" -ne 2 ] || refused=$((refused + 1))
	done
	kill "$flipper" || fail "the flipping has ended"
	wait "$flipper" 2>/dev/null
}
look='busybox cat /flip/file /other/file /flip-file /other-file; exit 0'
meet "$tmp/root/flip" "$tmp/root/other" --root "$tmp/root" -- /bin/busybox sh -c "$look"
assert_ge "$started" 5 "starts in a root whose folder flips"
meet "$tmp/root/flip-file" "$tmp/root/other-file" --root "$tmp/root" -- /bin/busybox sh -c "$look"
assert_ge "$started" 5 "starts in a root whose file flips"
meet "$tmp/work/flip" "$tmp/work/other" --workspace "$tmp/work" --ro "$tmp/source:/work/flip/new" -- \
	sh -c 'cat /work/flip/file /work/other/file; exit 0'
# Both sides of the race were met.
assert_ge "$started" 1 "starts in a workspace that flips"
assert_ge "$refused" 1 "links met in the workspace"
find "$tmp/secret" "$tmp/secret-file" -printf '%p %m %T@\n' >"$tmp/after"
assert_eq "$(diff "$tmp/before" "$tmp/after")" "" "changes of the secret"
assert_eq "$(grep -c "$tmp" /proc/self/mountinfo)" 0 "mounts left on the host"
