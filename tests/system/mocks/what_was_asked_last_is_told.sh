#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program asks and ends without waiting for an answer, and what answers gets no processor before that: the
# requests, of more connections than it takes at once, and what was denied are in the result all the same
# minutes 3

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program bash
need_program pgrep

# shellcheck disable=SC2016 # for the shell inside
last='for path in known{1..99} unknown; do
	exec 3<>/dev/tcp/198.18.0.1/80 && printf "GET /%s HTTP/1.1\r\nHost: a.example\r\n\r\n" "$path" >&3
done'
wait_until 60 ask_last : "$last" --net stub --mock 'http://a.example/known*=body:x' || fail "$(json .receipt.degraded)"
assert_eq "$(mock 'http://a.example/known*' hits)" 99 "requests that were made"
assert_eq "$(denials)" "http GET http://a.example/unknown (198.18.0.1:80) [no mock]"
