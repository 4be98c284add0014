#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Overlong and cut sequences are no text
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -- printf '\300\200abc'
assert_eq "$(json .stdout.encoding)" base64 "encoding"
assert_eq "$(json .stdout.base64)" wIBhYmM= "bytes"
run -- printf '\342\202'
assert_eq "$(json .stdout.base64)" 4oI= "bytes"
