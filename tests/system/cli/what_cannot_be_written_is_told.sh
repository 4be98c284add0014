#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A full disk and closed descriptors: the message names the option and the target, and
# nothing that was asked for is lost behind a status of 0
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups

# told STATUS MESSAGE COMMAND...
told()
{
	local expected=$1 message=$2

	shift 2
	stderr=$(eval "$*" 2>&1)
	assert_eq "$?: $stderr" "$expected: menace-run: $message" "$*"
}
full=": write to standard output: No space left on device"
closed=": write to standard output: Bad file descriptor"
run_it=$(printf %q "$MENACE_RUN")
spec='{"schema":"menace.spec/1","program":["true"]}'

told 125 "--json /dev/full: the result cannot be written: No space left on device" \
	"$run_it -o /dev/full -- true"
told 125 "--json -: the result cannot be written: No space left on device" \
	"$run_it -o - -- true >/dev/full"
for option in --help --version "--dry-run true"; do
	told 125 "${option%% *}$full" "$run_it $option 2>&1 >/dev/full"
	told 125 "${option%% *}$closed" "$run_it $option 2>&1 >&-"
done
told 2 "--json -: standard output is closed" "$run_it -o - -- echo ran 2>&1 >&-"
told 2 "--json FD:1: that descriptor is not open" "$run_it -o FD:1 -- echo ran 2>&1 >&-"
told 2 "--json FD:0: that descriptor is not open" "$run_it -o FD:0 -- echo ran <&-"
told 2 "--batch: standard output is closed; it gets the results, one a line" \
	"echo '$spec' | $run_it --batch 2>&1 >&-"
told 2 "--batch: standard input is closed; it has the specs, one a line" "$run_it --batch <&-"
told 2 "--spec: standard input is empty; accepted: a document of schema menace.spec/1" \
	"$run_it --spec - </dev/null"
echo >"$tmp/blank"
told 2 "--spec: $tmp/blank is empty; accepted: a document of schema menace.spec/1" \
	"$run_it --spec $tmp/blank"

# The program's own streams may be closed: nothing of ours is lost.
run_plain "$MENACE_RUN" -o "$tmp/r" -- echo said >&-
assert_status 0
assert_eq "$(gojq -r .stdout.text "$tmp/r")" said "what it said"
