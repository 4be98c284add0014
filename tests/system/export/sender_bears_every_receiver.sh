#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-send: what a receiver may answer, and what it may do instead of answering
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root
unset http_proxy HTTP_PROXY ALL_PROXY all_proxy

# Two lines: one of metrics, one of logs.
put_record 01m8grcbq84h03083qe5vt6fs0

"$MENACE" export --format otlp >"$tmp/lines"
export SLOW=30 # seconds
# shellcheck disable=SC2119 # no options
start_receiver

# send BEHAVIOUR [OPTION...]: to a receiver that behaves so.
send()
{
	behaviour=$1
	rm -f "$received/$1".*.json
	run_plain "${MENACE%/*}/menace-send" --endpoint "$url/$1/" --retry-wait 10ms "${@:2}" <"$tmp/lines"
}

# has_requests N: as many have come; one that was given up may be read later.
has_requests()
{
	[ "$(count_requests "$behaviour")" -ge "$1" ]
}

# assert_sent STATUS REQUESTS TEXT...
assert_sent()
{
	local text

	assert_status "$1"
	assert_eq "$stdout" "" "standard output"
	wait_until 30 has_requests "$2"
	assert_eq "$(count_requests "$behaviour")" "$2" "requests"
	for text in "${@:3}"; do
		assert_contains "$stderr" "$text"
	done
	assert_no_match "$stderr" $'\e' "message"
}

given_up="this and all behind it was not delivered: line 1: "

send ok
assert_sent 0 2 "2 lines accepted, 0 in part, 0 refused; 0 points and records rejected; 2 requests"
assert_eq "$(gojq -r .path "$received/ok.1.json")" /ok/v1/metrics

# In part: told and counted, never sent again.
send partial
assert_sent 1 2 'line 1: the receiver rejected 5 of them: "too\nold\x1b[31m"' \
	"0 lines accepted, 2 in part, 0 refused; 10 points and records rejected; 2 requests"
send no_json
assert_sent 1 2 "line 1: accepted, but the answer is no JSON"

# Statuses that are about one body do not stop the next, others do; none is tried again.
send bad_request
assert_sent 1 2 'line 2: the receiver answers 400: "no\nsuch field"' "0 in part, 2 refused"
send unauthorized
assert_sent 125 1 "${given_up}the receiver answers 401"
send server_error
assert_sent 125 1 "${given_up}the receiver answers 500"
send redirect
assert_sent 125 1 "${given_up}the receiver answers 307; redirects are not followed"

# What may be tried again is, as often and as late as it was said.
send busy_twice
assert_sent 0 4 "2 lines accepted" "4 requests"
send always_busy --retries 2
assert_sent 125 3 "${given_up}given up after 3 tries: the receiver answers 503"
send always_busy --retries 0
assert_sent 125 1 "given up after 1 tries"
before=$(boot_ms)
send retry_after
assert_sent 0 3 "2 lines accepted"
assert_ge $(($(boot_ms) - before)) 990 "time with Retry-After: 1"
send retry_late
assert_sent 125 1 "given up after 1 tries: it asks for 86400 seconds, at most 300 are waited: the receiver answers 503"
send close_once
assert_sent 0 3 "2 lines accepted"

# Slow, and too much.
send slow --timeout 500ms --retries 1
assert_sent 125 2 "given up after 2 tries: Operation timed out"
for much in gigabyte gigabyte_announced endless_headers; do
	send "$much"
	assert_sent 125 1 "${given_up}the answer is longer than an answer may be"
done

stop_receiver

# Nobody there.
menace export --format otlp --endpoint http://127.0.0.1:1 --retries 2 --retry-wait 10ms
behaviour=nobody
assert_sent 125 0 "${given_up}given up after 3 tries: Failed to connect"
# Nothing to send is no reason to speak to anybody.
menace export --format otlp --endpoint http://127.0.0.1:1 --reason exited
assert_sent 0 0 "0 lines accepted"
