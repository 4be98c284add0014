#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# /dev/stdin, /dev/stdout, /dev/stderr and /proc/self/fd/N can be opened again at every
# level, of every kind of stream, and by payloads of any caller
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_program python3
need_program node
printf 'print("from a file")\n' >"$tmp/program.py"

for level in 1 2 3 4 5; do
	cage=(--unsafe --level "$level")
	run "${cage[@]}" -- sh -c 'echo out >/dev/stdout; echo err >/dev/stderr; echo fd >>/proc/self/fd/1'
	assert_eq "$status $stdout $stderr" $'0 out\nfd err' "written at level $level"
	run "${cage[@]}" -- tee /dev/stderr < <(echo twice)
	assert_eq "$status $stdout $stderr" "0 twice twice" "tee at level $level"
	run "${cage[@]}" -- cat /dev/stdin < <(echo a pipe)
	assert_eq "$status $stdout" "0 a pipe" "a pipe at level $level"
	run "${cage[@]}" -- cat /dev/fd/0 <"$tmp/program.py"
	assert_eq "$status $stdout" '0 print("from a file")' "a file at level $level"
	run "${cage[@]}" --stdin "$tmp/program.py" -- cat /dev/stdin
	assert_eq "$status $stdout" '0 print("from a file")' "a named file at level $level"
	run "${cage[@]}" -- cat /dev/stdin </dev/null
	assert_eq "$status $stdout" "0 " "nothing at level $level"
	run "${cage[@]}" -- cat /dev/stdin <&-
	assert_eq "$status $stdout" "0 " "a closed stream at level $level"
	run "${cage[@]}" --tty -- sh -c 'echo seen >/dev/stderr'
	assert_eq "$status $stdout" $'0 seen\r' "a terminal at level $level"
done

run -- python3 /dev/stdin <"$tmp/program.py"
assert_eq "$status $stdout" "0 from a file" "Python's program"
run -- node -e 'process.stdout.write(require("fs").readFileSync("/dev/stdin"))' < <(echo read by node)
assert_eq "$status $stdout" "0 read by node" "node"

# The caller's own objects are never what is opened: a socket or a file of his stays out of reach.
echo kept >"$tmp/log"
"$MENACE_RUN" -- sh -c ': >/dev/stdout; echo more >/dev/stdout' >>"$tmp/log"
assert_eq "$(cat "$tmp/log")" $'kept\nmore' "a file of the caller's, which the payload could not truncate"

need_unprivileged_user
best=(--best-effort cgroup)
written=$("${as_user[@]}" "$MENACE_RUN" "${best[@]}" -- sh -c 'cat /dev/stdin >/dev/stderr' 2>&1 < <(echo by a user))
assert_contains "$written" "by a user" "an ordinary user's"
