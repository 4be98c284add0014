#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An empty last argument is kept; of a huge argument and of very many the first
# 4 KiB are kept, with the true total

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run -q -- true one ""
assert_eq "$(json 'execs[0].argv | tostring')" '["true","one",""]'
assert_eq "$(json 'execs[0] | [.argc, .argv_bytes, .argv_truncated] | tostring')" "[3,10,false]"
run -q -- true ""
assert_eq "$(json 'execs[0].argv | tostring')" '["true",""]'

# Exactly at the limit, one byte more: /bin/true and its NUL are 10 bytes.
for bytes in 4085:4096:false 4086:4097:true; do
	IFS=: read -r arg total cut <<<"$bytes"
	run_inside -- args 1 "$arg" /bin/true
	assert_eq "$(json 'execs[1] | [.argv_bytes, .argv_truncated] | tostring')" "[$total,$cut]"
	assert_eq "$(json 'execs[1].argv[1] | length')" "$arg" "bytes kept"
done

# The kernel takes one argument of at most 128 KiB; 8 of nearly that are 1 MiB.
run_inside -- args 8 131000 /bin/true
assert_status 0
assert_eq "$(json 'execs[1] | [.argc, .argv_bytes, .argv_truncated] | tostring')" "[9,1048018,true]"
assert_eq "$(json 'execs[1].argv[1] | length')" 4086 "bytes kept"

run_inside -- args 5000 9 /bin/true
assert_status 0
assert_eq "$(json 'execs[1] | [.argc, .argv_bytes, .argv_truncated] | tostring')" "[5001,50010,true]"
assert_books

# The same of the program's own path: 255 bytes are whole, 256 are not.
mkdir "$tmp/long"
for bytes in 255:false 256:true; do
	IFS=: read -r length cut <<<"$bytes"
	path=/long/$(printf 'd%.0s' $(seq 100))
	mkdir -p "$tmp$path"
	path=$path/$(printf 'f%.0s' $(seq $((length - ${#path} - 1))))
	cp /bin/true "$tmp$path"
	run -q --ro "$tmp/long:/long" -- "$path"
	assert_status 0
	assert_eq "$(json 'execs[0] | [(.exe | length), .exe_truncated] | tostring')" "[255,$cut]"
done

run -q -- printf '%s' $'\xff'
assert_eq "$(json 'execs[0].argv[2]')" '\xff' "an argument that is no text"
