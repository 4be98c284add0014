#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2019-5736: the payload makes the runtime run itself inside, keeps a descriptor
# of /proc/PID/exe and writes to it as soon as the file is not busy

. "$(dirname "$0")/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_root
need_file "$helpers/overwrite-exe"
cp "$helpers/overwrite-exe" "$MENACE_RUN" "$tmp/"
cp /usr/bin/sleep "$tmp/victim"
MENACE_RUN=$tmp/menace-run
before=$(sha256sum <"$MENACE_RUN")
target=$(stat -c %d:%i "$MENACE_RUN")

# The attack works where nothing is between: the program of a process that ends meanwhile.
# The helper is told the one file it may write to: this part runs on the host, as root.
"$tmp/victim" 0.5 &
run_plain "$tmp/overwrite-exe" "$(scaled 900)" "$(stat -c %d:%i "$tmp/victim")"
wait
assert_match "$stdout" "overwritten [1-9]" "control"
assert_eq "$(head -c 14 "$tmp/victim")" "#!/bin/false o" "control: start of the victim"

attack()
{
	local before_attack=$status

	rm -f "$tmp/work/"*
	printf '#!/proc/self/exe\n' >"$tmp/work/itself"
	printf '#!/proc/self/exe --version\n' >"$tmp/work/version"
	chmod 755 "$tmp/work/"*
	for program in /work/itself /work/version /proc/self/exe /proc/1/exe /proc/2/exe; do
		run "$@" --workspace "$tmp/work" --ro "$tmp/overwrite-exe:/a" -- "$program" \
			--best-effort cgroup -- /a 50 "$target"
		assert_eq "$(sha256sum <"$MENACE_RUN")" "$before" "runtime after $program"
	done
	run "$@" --ro "$tmp/overwrite-exe:/a" -- sh -c '
		for i in 1 2 3 4; do /a 200 "$1" & done
		for i in 1 2 3 4 5 6 7 8 9; do /proc/self/exe; /proc/1/exe; done
		wait' sh "$target" 2>/dev/null
	assert_contains "$stdout" "overwritten 0"
	assert_no_match "$stdout" "overwritten [1-9]"
	assert_eq "$(sha256sum <"$MENACE_RUN")" "$before" "runtime after the loop"
	status=$before_attack
}
status=0
mkdir "$tmp/work"
attack
attack --level 2
attack --userns
attack --userns --uid 0
