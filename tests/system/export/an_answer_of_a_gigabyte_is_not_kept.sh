#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A receiver that answers a GiB costs the sender no memory worth the name
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root
unset http_proxy HTTP_PROXY ALL_PROXY all_proxy

put_record 01m8grcbq84h03083qe5vt6fs0
"$MENACE" export --format otlp >"$tmp/lines"
# shellcheck disable=SC2119 # no options
start_receiver
# The largest resident set of its children, in KiB.
run_plain python3 -c '
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:], stdin=open(sys.argv[1])).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
	"$tmp/lines" "${MENACE%/*}/menace-send" --endpoint "$url/gigabyte"
stop_receiver
assert_match "$stdout" '^125 [0-9]+$'
assert_contains "$stderr" "the answer is longer than an answer may be"
[ "${MENACE_SLOWDOWN}" = 3 ] || assert_le "${stdout#* }" 65536 "KiB in use"
