#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Of an exec the file that was loaded is told, all links followed, and the working directory, as
# paths in the sandbox across its mounts; what was asked for is told as it was asked for

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
long=$(printf 'l%.0s' {1..200})
run -q -t "$(scaled 60)" --ro "$helper:/processes" -- sh -c "
	mkdir -p '/tmp/a b/$long' && ln -s /usr/bin/env /tmp/link && ln -s link /tmp/again
	printf '#!/usr/bin/env true\n' >/tmp/script && chmod 755 /tmp/script
	cd '/tmp/a b' && ../again true
	cd '$long' && ../../script
	cd / && exec /processes forks 0"
assert_status 0
places()
{
	json "[execs[] | select(.file | endswith(\"/$1\")) | [.exe, .file, .cwd, .file_truncated, .cwd_truncated]] | tojson"
}
assert_eq "$(places env)" "[[\"../again\",\"/usr/bin/env\",\"/tmp/a b\",false,false],[\"../../script\",\"/usr/bin/env\",\"/tmp/a b/$long\",false,false]]" \
	"links and scripts"
assert_eq "$(places processes)" '[["/processes","/processes","/",false,false]]' "a bound file, the root"
assert_eq "$(json 'execs[0] | .cwd')" /work "of the program itself"
assert_books

# A file in memory has no name in any folder, and is told to be fileless.
run_inside --level 2 -- memfd /usr/bin/true
assert_status 0
assert_processes 2 2
assert_eq "$(json .telemetry.counters.execs_fileless)" 1 "fileless execs"
assert_eq "$(json '[execs[].fileless] | tostring')" "[false,true]"
assert_eq "$(json 'execs[1].argv | tostring')" '["nameless"]'
assert_eq "$(json '[execs[] | select(.fileless) | .file] | tojson')" '[null]' "a file without a name"

# A folder that is deeper than there is room for.
run -q -t "$(scaled 60)" -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
	mkdir d$i && cd d$i || exit 9; done; exec true'
assert_status 0
assert_eq "$(json 'execs[-1] | [.file, .file_truncated, .cwd_truncated] | tojson')" '["/usr/bin/true",false,true]' \
	"a deep folder"
assert_match "$(json 'execs[-1].cwd')" '^/d[0-9]+(/d[0-9]+)+/d24/d25$' "its end"
assert_books
