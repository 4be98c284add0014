#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2017-5226 (TIOCSTI), CVE-2019-10063 and CVE-2019-7303 (the same with a 33rd bit
# that the kernel ignores), CVE-2023-28100 (TIOCLINUX)
# security

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_root
need_program script
need_file "$helpers/type-into-terminal"
install -m 755 "$helpers/type-into-terminal" "$tmp/type"

# What is typed into this terminal while COMMAND runs, shows after "typed:".
in_terminal()
{
	printf '%q ' "$@" >"$tmp/command"
	run_plain script -q -e -c "stty -echo; . $tmp/command; echo; IFS= read -r -t 0.3 line; echo typed:\$line" \
		"$tmp/typescript" <&5
	stdout=${stdout//$'\r'/}
}
# Input that never comes and never ends: at its end script would type a Ctrl-D.
mkfifo "$tmp/silence"
exec 5<>"$tmp/silence"
export SHELL=/bin/bash
in_terminal "$tmp/type" $'Z\n'
assert_match "$stdout" $'\ntyped:Z+' "control: typed without a sandbox"

check()
{
	in_terminal "$MENACE_RUN" -q "$@" --ro "$tmp/type:/type" -- /type $'Z\n'
	assert_match "$stdout" $'\ntyped:(\n|$)' "typed from inside"
	assert_eq "$(grep "TIOC.* OK" <<<"$stdout")" "" "attempts that worked"
	assert_eq "$(grep -c -E '^[0-3] TIOC(STI|LINUX)(\+2\^32)? EPERM$' <<<"$stdout")" 24 \
		"attempts denied"
}
check
assert_contains "$stdout" "/dev/tty ENXIO" "the caller's terminal"
check --level 2
check --userns
check --tty
assert_contains "$stdout" "/dev/tty OK" "a terminal of its own"
