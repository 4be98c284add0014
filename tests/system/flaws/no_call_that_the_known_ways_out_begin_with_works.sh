#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2022-0185 (fsopen in a user namespace), CVE-2022-0492 (mounting a hierarchy),
# CVE-2024-1086 (nf_tables in a user namespace) and the flaws of overlayfs there: the
# code that they need is out of reach
# security
# kernel

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_root
need_program unshare
need_file "$helpers/attack-kernel"
install -m 755 "$helpers/attack-kernel" "$tmp/attack"

# In namespaces to throw away nearly all of them work.
cat >"$tmp/control" <<'SH'
mount -t tmpfs t /mnt && cp "$1" /mnt/attack && mount -t tmpfs t /tmp &&
	mount -t tmpfs t /dev/shm && exec /mnt/attack
SH
run_plain unshare -m -u -i -n -p -f --mount-proc -C sh "$tmp/control" "$tmp/attack"
assert_ge "$(grep -c ' OK$' "$tmp/stdout")" 35 "control: calls that work outside"
attempts=$(wc -l <"$tmp/stdout")

check()
{
	run "$@" --ro "$tmp/attack:/attack" -- /attack
	assert_eq "$(grep ' OK$' "$tmp/stdout")" "" "calls that work with '$*'"
	assert_eq "$(wc -l <"$tmp/stdout") $status" "$attempts 0" "calls made and exit status"
}
check
check --level 2
check --userns
check --userns --uid 0 --gid 0
check --userns --level 2 --uid 0
check --net host
check --level 4 2>/dev/null
