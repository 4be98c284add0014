#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2025-59532: the working directory, chosen by the model, became the writable root
# security

. "${0%/*}/../../lib/system.sh"

mkdir -p "$tmp/ro/sub" "$tmp/host"
chmod 777 "$tmp/ro" "$tmp/ro/sub" "$tmp/host"
for cwd in /usr /etc / /proc/sys /ro /ro/sub; do
	run --ro "$tmp/ro:/ro" --cwd "$cwd" -- sh -c 'touch new && echo written'
	assert_ne "$status" 0 "status in $cwd"
	assert_not_contains "$stdout" written "output in $cwd"
done
assert_eq "$(find "$tmp/ro" -name new)" "" "files made in a read-only folder"
run -- sh -c 'cd /usr && touch new; cd / && touch new; cd /etc && touch new; echo done'
assert_eq "$stdout" "done"
assert_eq "$(grep -c "Read-only file system" "$tmp/stderr")" 3 "refusals"

# A folder of the host that is not mounted is not there, whatever we were started in.
cd "$tmp/host" || exit 1
run --cwd "$tmp/host" -- touch new
assert_refused "working directory $tmp/host: No such file or directory"
run -- sh -c 'pwd -P; touch new'
assert_eq "$status $stdout" "0 /work" "where a run starts"
assert_eq "$(ls -A "$tmp/host")" "" "files made where we were started"
run --cwd relative -- true
assert_status 2
run --cwd "" -- true
assert_status 2
run --cwd ../../host -- true
assert_status 2
