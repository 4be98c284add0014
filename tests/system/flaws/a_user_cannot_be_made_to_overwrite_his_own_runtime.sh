#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2019-5736 where file permissions do not help: the caller owns the binary, and
# the payload is he himself in a user namespace

. "$(dirname "$0")/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_unprivileged_user
need_file "$helpers/overwrite-exe"
install -d -o 65534 -g 65534 "$tmp/user" "$tmp/user/work"
install -o 65534 -g 65534 "$MENACE_RUN" "$tmp/user/menace-run"
install -o 65534 -g 65534 "$helpers/overwrite-exe" "$tmp/user/overwrite-exe"
printf '#!/proc/self/exe --best-effort=cgroup\n' >"$tmp/user/work/itself"
chmod 755 "$tmp/user/work/itself"
export XDG_RUNTIME_DIR=$tmp/user
before=$(sha256sum <"$tmp/user/menace-run")
ours=("${as_user[@]}" "$tmp/user/menace-run" -q --best-effort cgroup)

for level in 2 3; do
	for program in /work/itself /proc/self/exe; do
		run_plain "${ours[@]}" --level $level --workspace "$tmp/user/work" -- "$program" \
			/work/overwrite-exe 100
		assert_eq "$(sha256sum <"$tmp/user/menace-run")" "$before" "runtime after $program"
	done
	run_plain "${ours[@]}" --level $level --ro "$tmp/user/overwrite-exe:/a" -- sh -c '
		for i in 1 2 3; do /a 300 & done
		for i in 1 2 3 4 5 6 7 8 9; do /proc/self/exe; /proc/1/exe; done
		wait'
	assert_contains "$stdout" "overwritten 0"
	assert_no_match "$stdout" "overwritten [1-9]"
	assert_eq "$(sha256sum <"$tmp/user/menace-run")" "$before" "runtime at level $level"
done
