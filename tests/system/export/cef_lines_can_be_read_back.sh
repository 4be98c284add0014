#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace export --format cef: headers and extensions keep apart what hostile names put into them
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root

put_records
menace export --format cef
assert_exported
check cef
assert_harmless
echo "$checked" >"$tmp/read"
assert_eq "$(wc -l <"$tmp/read")" "$(wc -l <"$tmp/stdout")" lines

# pick FILTER: of what was read back, by jq.
pick()
{
	gojq -c "$1" "$tmp/read" | sort -u
}

assert_eq "$(pick '.header[:3]')" '["menace","menace-run","0.1|0"]'
assert_eq "$(pick 'select(.header[3] == "run_end") | [.severity, .extension.rt, .extension.reason,
	.extension.cn2Label, .extension.cn2, .extension.cn1]')" \
	'[4,"1795836000000","oom","wallMicroseconds","1234567",null]'
assert_eq "$(pick 'select(.header[3] == "denial") | [.severity, .header[4]]')" \
	'[4,"Operation denied"]
[6,"Connection denied"]
[6,"System call denied"]
[8,"Mount denied"]'
assert_eq "$(pick 'select(.header[3] == "connect" and .extension.dpt == "80") | .extension | [.dst, .dpt, .dhost, .proto]')" \
	'["127.0.0.1","80",null,"tcp"]'
# The name as it was, but for what acts on a terminal.
assert_eq "$(pick 'select(.header[3] == "exec") | .extension.filePath')" \
	"\"/usr/bin/a\\nb\\r\\\\x09c|=\\\\\\\"'\\\\x1b[31m\\\\x7f\\\\x9b31m\\\\u202eé {}<>\$\\\\u2028CEF:0|\""
assert_eq "$(pick 'select(.header[3] == "exec") | .extension.cs2 | length' | sort -n | tail -n 1)" 131140
