#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2019-5736: the payload makes the runtime run itself inside, keeps a descriptor
# of /proc/PID/exe and writes to it as soon as the file is not busy
#
# The runtime attacked is a copy that everyone may write, and the helper writes to
# no other file.
# security

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_unprivileged_user
need_file "$helpers/overwrite-exe"
install -m 755 "$helpers/overwrite-exe" "$tmp/attack"
install -m 777 "$MENACE_RUN" "$tmp/menace-run"
install -m 777 /usr/bin/sleep "$tmp/victim"
mkdir "$tmp/work"
printf '#!/proc/self/exe\n' >"$tmp/work/itself"
printf '#!/proc/self/exe --version\n' >"$tmp/work/version"
chmod 755 "$tmp/work/"*

# It works where nothing is between: on the program of another process of the same user.
target=$(stat -c %d:%i "$tmp/victim")
"${as_user[@]}" "$tmp/attack" 20000 "$target" >"$tmp/control" &
attack=$!
attack_is_over()
{
	! kill -0 "$attack" 2>/dev/null
}
# It sees the victim while that runs, and overwrites it as soon as nobody runs it.
for _ in {1..30}; do
	"${as_user[@]}" "$tmp/victim" 0.2 2>/dev/null # none any more, once it is overwritten
	! wait_until 1 attack_is_over || break
done
wait "$attack"
assert_match "$(cat "$tmp/control")" "^seen [1-9][0-9]* target seen overwritten$" "control"
assert_eq "$(head -c 11 "$tmp/victim")" overwritten "control: start of the victim"

MENACE_RUN=$tmp/menace-run
target=$(stat -c %d:%i "$MENACE_RUN")
before=$(sha256sum <"$MENACE_RUN")
check()
{
	local program

	for program in /work/itself /work/version /proc/self/exe /proc/1/exe /proc/2/exe; do
		run "$@" --workspace "$tmp/work" -- "$program" --version
		assert_eq "$(sha256sum <"$MENACE_RUN")" "$before" "runtime after $program with '$*'"
	done
	run "$@" --ro "$tmp/attack:/attack" -- sh -c '
		for i in 1 2 3; do /attack 200 '"$target"' & done
		for i in 1 2 3 4 5 6 7 8 9; do /proc/self/exe </dev/null; /proc/1/exe; done
		wait' 2>/dev/null
	assert_eq "$(sed 's/seen [1-9][0-9]* //' "$tmp/stdout" | sort -u)" "target hidden kept" \
		"the attack with '$*'"
	assert_eq "$(sha256sum <"$MENACE_RUN")" "$before" "runtime after the loop with '$*'"
}
check
check --level 2
check --userns
check --userns --uid 0
