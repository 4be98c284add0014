#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-send refuses addresses, headers and lines before it speaks to anybody, and tells no secret
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root

sender=${MENACE%/*}/menace-send
put_record 01m8grcbq84h03083qe5vt6fs0 1048576
"$MENACE" export --format otlp >"$tmp/lines"

# send OPTION...: the lines of $input.
input=$tmp/lines
send()
{
	run_plain "$sender" "$@" <"$input"
}

send
assert_refused "say where to with --endpoint URL"
send --endpint http://x
assert_refused "unknown option --endpint; did you mean --endpoint?"
for url in ftp://127.0.0.1 file:///etc/passwd gopher://x dict://x:1; do
	send --endpoint "$url"
	assert_refused "\"$url\": only http and https are spoken"
done
send --endpoint ''
assert_refused '"" is no address'
send --endpoint 'http://'
assert_refused 'is no address'
send --endpoint http://me:hunter2@127.0.0.1/
assert_refused "an address with a user or password in it is not taken"
assert_not_contains "$stderr" hunter2
send --endpoint 'http://127.0.0.1/?token=x'
assert_refused "nothing may stand behind the path"
for header in nothing ': x' 'a b: c' 'Token:'; do
	send --endpoint http://127.0.0.1:1 --header "$header"
	assert_refused header
done
send --endpoint http://127.0.0.1:1 --header $'Token: hunter2\r\nX: y'
assert_refused "header Token: its value has control characters"
assert_not_contains "$stderr" hunter2
send --endpoint http://127.0.0.1:1 --header @"$tmp/nothing"
assert_refused "--header: open $tmp/nothing: No such file or directory"
printf 'X: y\n\0Token: hunter2\n' >"$tmp/headers"
send --endpoint http://127.0.0.1:1 --header @"$tmp/headers"
assert_refused "--header: $tmp/headers has a null byte in it"
for bad in --timeout=0 --timeout=2h --timeout=x --retries=101 --retries=-1 --retry-wait=61s; do
	send --endpoint http://127.0.0.1:1 "$bad"
	assert_refused "${bad%=*}: "
done

# Headers from a file, which nobody sees in the list of processes; a line of several MiB is sent whole.
printf 'X-Token: hunter2\nX-More: a=b\n' >"$tmp/headers"
# shellcheck disable=SC2119 # no options
start_receiver
send --endpoint "$url/ok" --header "@$tmp/headers"
assert_status 0
assert_eq "$(gojq -r '.headers | [.["X-Token"], .["X-More"]] | join(" ")' "$received/ok.1.json")" "hunter2 a=b"

# Lines.
input=$tmp/bad
for text in '{"resourceSpans":[]}' nothing '' "$(head -c 100 "$tmp/lines")"; do
	echo "$text" >"$input"
	[[ $text != *resourceMetrics* ]] || printf %s "$text" >"$input"
	send --endpoint "$url/ok"
	assert_status 2
	assert_contains "$stderr" "line 1: "
done
assert_contains "$stderr" "line 1: has no end: what was written is cut off"
head -c 67108865 /dev/zero | tr '\0' x >"$input"
send --endpoint "$url/ok"
assert_status 2
assert_contains "$stderr" "line 1: is longer than 67108864 bytes"
assert_eq "$(count_requests ok)" 2 "requests"
stop_receiver

# The sender is the one beside menace, and no other.
cp "$MENACE" "$tmp/menace"
printf '#!/bin/sh\necho wrong\n' >"$tmp/menace-send.other"
mkdir "$tmp/path"
cp "$tmp/menace-send.other" "$tmp/path/menace-send"
chmod +x "$tmp/path/menace-send"
run_plain env PATH="$tmp/path:$PATH" "$tmp/menace" export --format otlp --endpoint http://127.0.0.1:1
assert_status 125
assert_contains "$stderr" "menace-send is neither in $tmp nor in libexec"
assert_not_contains "$stdout" wrong

# One that is ended by a signal has said nothing.
printf '#!/bin/sh\nkill -KILL $$\n' >"$tmp/menace-send"
chmod +x "$tmp/menace-send"
run_plain "$tmp/menace" export --format otlp --endpoint http://127.0.0.1:1
assert_status 125
assert_contains "$stderr" "menace-send was ended by signal 9"
