#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program whose name is no UTF-8 and does not exist: the result and the store have the message
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

run -- $'no\xffne'
assert_status 127
assert_eq "$(json .error.message)" 'no\xffne: not found in the sandbox' "message"
assert_eq "$(json .error.message_base64 | base64 -d | od -An -c | tr -d ' \n')" \
	'no377ne:notfoundinthesandbox' "its bytes"
assert_eq "$("$MENACE" query 'SELECT count(*) AS n FROM runs' --json)" '{"n":1}' "runs in the store"

# Cut within a character, a message is text all the same.
long=$(printf 'ä%.0s' {1..2000})
for name in "$long" "a$long"; do
	run -- "$name"
	assert_ne "$status" 134 "exit status"
	assert_eq "$(json '.error | has("message_base64")')" false "of $name"
done
