#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace events tells every fork, program, end, crash, victim and denial of a stored run, by
# time; types can be chosen
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run -q -t "$(scaled 60)" --ro "$helper:/processes" -- sh -c \
	'/bin/true a; mount -t tmpfs x /mnt; /processes segv; (exit 7); exit 3'
assert_status 3
id=$(run_ids | tail -n 1)

menace events "$id" --json
assert_status 0
assert_eq "$stderr" "" "standard error"
events=$tmp/stdout
assert_eq "$(gojq -s '[.[].boot_ns] | . == sort' "$events")" true "order of time"
assert_eq "$(gojq -s '[.[].since_ns] | .[0] > 0 and . == sort' "$events")" true "time since the start"
for type in fork exec exit; do
	assert_eq "$(gojq -s --arg t $type 'map(select(.type == $t)) | length' "$events")" \
		"$(json ".telemetry.counters.${type}s")" "${type}s"
done
assert_eq "$(gojq -s -c '[.[] | select(.type == "exec") | .detail.argv[0:2]]' "$events")" \
	'[["sh","-c"],["/bin/true","a"],["mount","-t"],["/processes","segv"]]' "programs"
assert_eq "$(gojq -s -c '[.[] | select(.type == "crash") | [.comm, .object, .detail.address]]' "$events")" \
	'[["processes","SEGV","0xdead"]]' "crash"
assert_eq "$(gojq -s -c '[.[] | select(.type == "denial") | [.comm, .detail.what, .detail.errno_name, .detail.count]]' \
	"$events")" '[["mount","mount","EPERM",1]]' "denial"
# The program's own end, the subshell's and the crash's are told by how they ended.
assert_eq "$(gojq -s -c '[.[] | select(.type == "exit" and .comm != "menace-run") | .detail.exit_code // -.detail.exit_signal]
	| sort' "$events")" '[-11,0,3,7,32]' "ends"
# Each fork names a process that ends later.
assert_eq "$(gojq -s '[.[] | select(.type == "fork") | .detail.child_tgid] - [.[] | select(.type == "exit") | .tgid] | length' \
	"$events")" 0 "forks without an end"

menace events "$id" --type exec,crash --json
assert_eq "$(gojq -s -c '[.[].type] | unique' "$tmp/stdout")" '["crash","exec"]' "chosen types"
menace events "${id:0:25}" -t exec
assert_status 0
assert_match "$stdout" '^     SECOND[S]      PID COMMAND          EVENT    WHAT
 +[0-9]+\.[0-9]{6} +[0-9]+ sh               exec     /usr/bin/sh -c '
assert_contains "$stdout" "exec     /bin/true a"
menace events "$id"
assert_contains "$stdout" "crash    SEGV at 0xdead"
assert_contains "$stdout" "denial   mount -> EPERM (mount)"
assert_contains "$stdout" "exit     signal 11 SIGSEGV, at most "
assert_contains "$stdout" "exit     status 7, at most "

# A victim of the memory limit is one event more, before its end.
preread "$MENACE_HELPERS/eat-memory"
run -q -m 32m -t "$(scaled 60)" --ro "$MENACE_HELPERS:/h" -- /h/eat-memory anon 67108864
assert_reason oom
menace events "$(run_ids | tail -n 1)" --json --type oom,exit
assert_eq "$(gojq -s -c '[.[] | select(.comm == "eat-memory") | .type]' "$tmp/stdout")" '["oom","exit"]' "victim"

# What was not observed is said, and denials are there all the same.
run -q --telemetry off -- sh -c 'mount -t tmpfs x /mnt 2>/dev/null'
menace events "$(run_ids | tail -n 1)" --json
assert_status 0
assert_contains "$stderr" "only denials are known of run"
assert_contains "$stderr" "switched off by telemetry.level"
assert_eq "$(gojq -s -c '[.[].type]' "$tmp/stdout")" '["denial"]' "without telemetry"

# A time that is not known is no time, nor is one that cannot be.
id=$(run_ids | tail -n 1)
edit "UPDATE denials SET first_ns = NULL WHERE run_id = '$id'"
menace events "$id"
assert_match "${stdout#*$'\n'}" "^           - +[0-9]+ mount            denial   mount -> EPERM" "no time"
edit "UPDATE denials SET first_ns = -9223372036854775808 WHERE run_id = '$id'"
menace events "$id" --json
assert_eq "$(gojq -c .since_ns "$tmp/stdout")" null "a time before all"

# More than the record has room for: how many are missing.
run_inside -- forks 1500
assert_status 0
menace events "$(run_ids | tail -n 1)" --json
assert_status 0
assert_ge "$(gojq -s '.[-1] | select(.type == "lost") | .count' "$tmp/stdout")" 400 "lost events"

menace events "$id" --type exce
assert_refused '--type: unknown type "exce"; did you mean exec?'
menace events "$id" --type exec,wonder
assert_refused '--type: unknown type "wonder"; known are fork, exec, exit, oom, crash, socket, connect,'
menace events "$id" --type ''
assert_refused "--type: no type in an empty list"
menace events zzzz
assert_status 1
assert_contains "$stderr" 'there is no run "zzzz"'
