#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: a program that asks for what it may not and ends at once, while menace-netd gets no processor:
# the denial is in the result all the same
# security
# minutes 3

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"

need_system_program bash
need_program pgrep
start_outside

last='exec 3<>/dev/tcp/203.0.113.10/80 && printf "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n" >&3'
wait_until 60 ask_last "getent ahosts good.example" "$last" --net allowlist --allow good.example -s net.resolver=203.0.113.53 ||
	fail "$(json .receipt.degraded)"
assert_eq "$(denied)" "http evil.example (203.0.113.10:80) http-host"
