#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --uid, --gid, --hostname and --cwd
#
# kernel
# security

. "${0%/*}/../../lib/system.sh"

need_root

run --uid 1234 --gid 4321 -- sh -c 'id -u; id -g; id -G; touch /work/f && stat -c %u:%g /work/f'
assert_status 0
assert_eq "${stdout//$'\n'/ }" "1234 4321 4321 1234:4321"

run --userns --uid 7 --gid 8 -- sh -c 'id -u; id -g; id -G'
assert_eq "${stdout//$'\n'/ }" "7 8 8"

run --uid 0 -- true
assert_refused uid "without a user namespace this would be the host's root"
run --userns --uid 0 --gid 0 -- sh -c 'id -u; touch /usr/x 2>/dev/null || echo no; cat /etc/shadow 2>/dev/null || echo no'
assert_eq "${stdout//$'\n'/ }" "0 no no" "root inside"

run -- sh -c 'id -un; id -gn; pwd; hostname; whoami'
assert_eq "${stdout//$'\n'/ }" "sandbox sandbox /work sandbox sandbox"

run --hostname abc.example --cwd /tmp -- sh -c 'hostname; pwd; grep -c abc.example /etc/hosts'
assert_eq "${stdout//$'\n'/ }" "abc.example /tmp 1"

run --cwd /nonexistent/folder -- pwd
assert_ne "$status" 0
assert_contains "$stderr" /nonexistent/folder

# Without one asked, two runs are two users.
run -- true
first=$(json .receipt.identity.host_uid)
run -- true
assert_ne "$(json .receipt.identity.host_uid)" "$first" "host uid of the second run"
assert_ge "$first" 100000 "host uid"
