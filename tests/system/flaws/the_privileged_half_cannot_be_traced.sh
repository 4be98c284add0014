#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2026-41163: the half with few rights drives the half with more by ptrace.  Our init,
# which has rights in its namespaces until the payload starts, is not dumpable, even
# for processes of the same user outside
# security

. "${0%/*}/../../lib/system.sh"

need_unprivileged_user
install -d -o 65534 -g 65534 "$tmp/user"
export XDG_RUNTIME_DIR=$tmp/user
mkfifo "$tmp/ready"
"${as_user[@]}" "$MENACE_RUN" -q --best-effort cgroup -- sh -c 'echo; exec sleep 100' \
	>"$tmp/ready" 2>"$tmp/messages" &
supervisor=$!
at_exit kill $supervisor
read -r <"$tmp/ready" || fail "no start: $(cat "$tmp/messages")"
read -r init _ <"/proc/$supervisor/task/$supervisor/children"
read -r payload _ <"/proc/$init/task/$init/children"

look=(sh -c 'readlink "/proc/$1/exe" "/proc/$1/root" "/proc/$1/cwd"; ls "/proc/$1/fd"; cat "/proc/$1/environ"' sh)
run_plain "${as_user[@]}" "${look[@]}" "$$"
run_plain "${as_user[@]}" "${look[@]}" "$supervisor"
assert_contains "$stdout" "menace-run" "control: a process of the same user"
run_plain "${as_user[@]}" "${look[@]}" "$init"
assert_eq "$stdout" "" "what the same user sees of init"
assert_eq "$(stat -c %u "/proc/$init/stat")" 0 "owner of /proc/INIT"
[ -n "$payload" ] || fail "no payload"
