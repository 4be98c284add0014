#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace show names the frames of a crash, as long as the file is what it was; debug
# information that was made to harm its reader harms nobody

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_file "${MENACE_RUN%/*}/menace-symbolize"

crasher=$tmp/crasher
cp "$helper" "$crasher"

# crash: run the program and let it die; sets shown to what `menace show` says of it.
crash()
{
	run -q --store "$tmp/menace.db" -t "$(scaled 60)" --ro "$crasher:/crasher" -- /crasher segv
	assert_reason signaled
	look
}

look()
{
	shown=$("$MENACE" show --store "$tmp/menace.db" --json "$(json .run_id)") || fail "menace show: $?"
}

first_frame()
{
	gojq -r ".crashes[0].detail.symbols[0] | $1" <<<"$shown"
}

crash
module=$(json 'crashes[0].modules[0] | [.nameless, .path_truncated, (.inode | tostring)] | tostring')
assert_eq "$module" "[false,false,\"$(stat -c %i "$crasher")\"]" "the module"
assert_eq "$(first_frame '[.symbol, .reason] | tostring')" '["segv",null]' "the innermost frame"
assert_eq "$(first_frame .module)" "$crasher" "its file"
"$MENACE" show --store "$tmp/menace.db" "$(json .run_id)" >"$tmp/text"
assert_contains "$(cat "$tmp/text")" "SIGSEGV at 0xdead in crasher"
assert_match "$(cat "$tmp/text")" " segv(\+0x[0-9a-f]+)? in $crasher\+0x"

# A name that is no text is shown as what it is.
at=$(LC_ALL=C grep -obUaP '\x00segv\x00' "$crasher" | tail -n 1 | cut -d : -f 1)
printf 'seg\xff' | dd of="$crasher" bs=1 seek=$((at + 1)) conv=notrunc status=none
crash
assert_eq "$(first_frame '[.symbol, .symbol_base64, .reason] | tostring')" '["seg\\xff","c2Vn/w==",null]' "bytes as a name"

# A file that is not what it was gives no names.
touch -d '+1 hour' "$crasher"
look
assert_eq "$(first_frame '[.symbol, .reason] | tostring')" '[null,"the file was changed since"]'
mv "$crasher" "$crasher.old"
cp "$helper" "$crasher" # the same path, but another file
look
assert_eq "$(first_frame '[.symbol, .reason] | tostring')" \
	'[null,"the file is not on this host any more"]'

# Nothing but noise where the sections are: it still runs, and dies.
size=$(stat -c %s "$crasher")
LC_ALL=C awk 'BEGIN { srand(1); for (i = 0; i < 65536; i++) printf "%c", int(rand() * 255) + 1 }' | dd of="$crasher" bs=1 seek=$((size - 65536)) conv=notrunc status=none
crash
assert_eq "$(first_frame .symbol)" null
assert_ge "$(first_frame '.reason | length')" 10 "a reason"

# Code in memory of no file says so.
run_inside -- made-code
assert_eq "$(json 'crashes[0] | [.name, (.modules[0] | .inode, .path)] | tostring')" \
	'["ILL",null,null]' "a frame in memory of no file"
