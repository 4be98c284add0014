#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2021-26910, CVE-2017-5180 and relatives: a variable of the caller makes the runtime
# or the shell it starts run something else
# security

. "${0%/*}/../../lib/system.sh"

need_system_program bash
printf 'echo injected\n' >"$tmp/rc"
chmod 644 "$tmp/rc"
export BASH_ENV=$tmp/rc ENV=$tmp/rc
run_plain bash -c :
assert_eq "$stdout" injected "control: BASH_ENV outside"

export LD_PRELOAD_COPY=1 SECRET_TOKEN=hunter2 PYTHONSTARTUP=$tmp/rc PERL5OPT=-d IFS_COPY=x
export BASH_FUNC_ls%%='() { echo injected; }' 2>/dev/null
run_env=(env LD_PRELOAD="$tmp/none.so" LD_LIBRARY_PATH="$tmp" LD_AUDIT="$tmp/none.so" GCONV_PATH="$tmp"
	MALLOC_TRACE="$tmp/trace" GLIBC_TUNABLES=glibc.malloc.check=1 BASH_ENV="$tmp/rc" ENV="$tmp/rc"
	"BASH_FUNC_ls%%=() { echo injected; }" PS4='$(touch '"$tmp"'/ps4)' SHELLOPTS=xtrace TERM=dumb)

expected='HOME LANG LOGNAME PATH SHELL TMPDIR USER'
check()
{
	run_plain "${run_env[@]}" "$MENACE_RUN" -q -o "$result" "$@" -- env -0
	assert_eq "$(tr '\0' '\n' <"$tmp/stdout" | cut -d= -f1 | sort | tr '\n' ' ')" "$expected " \
		"variables inside with '$*'"
	run_plain "${run_env[@]}" "$MENACE_RUN" -q -o "$result" "$@" --ro "$tmp/rc:$tmp/rc" -- \
		bash -c 'ls -d /work'
	assert_eq "$stdout" /work "a shell inside with '$*'"
}
check
check --userns
check --level 2
assert_absent "$tmp/ps4"
assert_absent "$tmp/trace"

# Only what is named passes.
run --env-pass SECRET_TOKEN -- sh -c 'echo $SECRET_TOKEN $BASH_ENV'
assert_eq "$stdout" hunter2 "variable passed by name"
run -- sh -c 'cat /proc/self/environ /proc/*/environ 2>/dev/null | tr "\0" "\n" | grep -c hunter2'
assert_eq "$stdout" 0 "a variable of the caller in /proc"
