#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2019-5736 where file permissions do not help: the caller owns the binary, and
# the payload is he himself in a user namespace
# security

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_unprivileged_user
need_file "$helpers/overwrite-exe"
install -d -o 65534 -g 65534 "$tmp/user" "$tmp/user/work"
install -o 65534 -g 65534 "$MENACE_RUN" "$tmp/user/menace-run"
install -m 755 "$helpers/overwrite-exe" "$tmp/attack"
printf '#!/proc/self/exe --version\n' >"$tmp/user/work/itself"
chmod 755 "$tmp/user/work/itself"
export XDG_RUNTIME_DIR=$tmp/user
target=$(stat -c %d:%i "$tmp/user/menace-run")
before=$(sha256sum <"$tmp/user/menace-run")
ours=("${as_user[@]}" "$tmp/user/menace-run" -q --best-effort cgroup)

# Outside he could.
run_plain "${as_user[@]}" sh -c '[ -w "$1" ]' sh "$tmp/user/menace-run"
assert_status 0

for level in 2 3; do
	for program in /work/itself /proc/self/exe; do
		run_plain "${ours[@]}" --level $level --workspace "$tmp/user/work" -- "$program" --version
		assert_eq "$(sha256sum <"$tmp/user/menace-run")" "$before" "runtime after $program"
	done
	run_plain "${ours[@]}" --level $level --ro "$tmp/attack:/attack" -- sh -c '
		for i in 1 2 3; do /attack 300 '"$target"' & done
		for i in 1 2 3 4 5 6 7 8 9; do /proc/self/exe </dev/null; /proc/1/exe; done
		wait' 2>/dev/null
	assert_eq "$(sed 's/seen [1-9][0-9]* //' "$tmp/stdout" | sort -u)" "target hidden kept" \
		"the attack at level $level"
	assert_eq "$(sha256sum <"$tmp/user/menace-run")" "$before" "runtime at level $level"
done
