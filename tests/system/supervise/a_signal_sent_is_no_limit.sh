#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGXFSZ and SIGSYS that a program sends itself are signals as any other: no limit was
# met, and no filter killed it
# security

. "${0%/*}/../../lib/system.sh"

for sig in XFSZ SYS KILL; do
	# shellcheck disable=SC2016
	run -- sh -c 'kill -'$sig' $$; sleep 1000'
	assert_status "$((128 + $(kill -l "$sig")))"
	assert_reason signaled
	assert_eq "$(json '[.exit.signal_name, .limits_hit, .error] | @json')" "[\"$sig\",[],null]" "$sig"
done

# The one that the kernel sends at a limit which was set is the limit's.
run -s limits.fsize_bytes=1000 -- python3 -c '
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
fd = os.open("/tmp/f", os.O_CREAT | os.O_WRONLY)
os.write(fd, b"x" * 1000)
os.write(fd, b"x")'
assert_status 153
assert_reason disk_limit
