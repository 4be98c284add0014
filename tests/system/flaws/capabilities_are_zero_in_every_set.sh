#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2022-27650, CVE-2022-29162: inheritable capabilities stay set across exec, and a
# program with file capabilities gets them back
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_program setpriv
none='CapInh:0000000000000000 CapPrm:0000000000000000 CapEff:0000000000000000 CapBnd:0000000000000000 CapAmb:0000000000000000 NoNewPrivs:1 '
show=(sh -c 'grep -E "^(Cap|NoNew)" /proc/self/status | tr -d "\t" | tr "\n" " "')

inheriting=(setpriv "--inh-caps=+net_raw,+chown,+sys_admin" "--ambient-caps=+net_raw,+chown,+sys_admin")
run_plain "${inheriting[@]}" "${show[@]}"
assert_no_match "$stdout" "Cap(Inh|Amb):0000000000000000" "control: sets of the caller"

for options in "" --userns "--userns --uid 0 --gid 0" "--level 2" "--level 2 --userns --uid 0" \
	"--uid 12345" "--net host" "--tty"; do
	# shellcheck disable=SC2086 # words
	run_plain "${inheriting[@]}" "$MENACE_RUN" -q -o "$result" $options -- "${show[@]}"
	assert_status 0
	assert_eq "${stdout//$'\r'/}" "$none" "sets with '$options'"
	for set in inheritable permitted effective bounding ambient; do
		assert_eq "$(json ".receipt.identity.cap_$set")" 0000000000000000 "$set in the receipt"
	done
done

# A program with file capabilities on a mount of the caller's gets none.
need_program setcap busybox
cp "$(command -v busybox)" "$tmp/busybox"
setcap cap_net_raw,cap_chown+eip "$tmp/busybox" 2>/dev/null || skip "no file capabilities in $tmp"
run --ro "$tmp/busybox:/opt/busybox" -- /opt/busybox grep -E '^Cap(Prm|Eff)' /proc/self/status
assert_eq "$status $(tr -d '\t' <<<"$stdout" | tr '\n' ' ')" \
	"0 CapPrm:0000000000000000 CapEff:0000000000000000 " "a program with file capabilities"
