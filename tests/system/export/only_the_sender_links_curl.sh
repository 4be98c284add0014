#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# libcurl is in menace-send and in nothing else: not in menace-run, not in menace, neither linked nor
# named
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_program ldd nm strings

sender=${MENACE%/*}/menace-send
need_file "$sender"
assert_contains "$(ldd "$sender")" libcurl.so
for program in "$MENACE_RUN" "$MENACE"; do
	# A static program is none to ldd.
	assert_not_contains "$(ldd "$program" 2>&1)" libcurl
	assert_not_contains "$(nm -C "$program" 2>&1)" curl_
	assert_not_contains "$(nm -D "$program" 2>&1)" curl_
	assert_eq "$(strings -a "$program" | grep -c -E 'libcurl|curl_easy')" 0 "libcurl in $program"
done
