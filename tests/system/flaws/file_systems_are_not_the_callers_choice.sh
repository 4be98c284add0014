#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# isolate before 2.6: rules took any file system type and any device
# security

. "${0%/*}/../../lib/system.sh"

for kind in proc sysfs ext4 overlay cgroup cgroup2 devtmpfs fuse bind dev '' ro,suid; do
	printf '{"schema":"menace.spec/1","program":["true"],"mounts":[{"type":"%s","source":"/usr","dest":"/x"}]}' \
		"$kind" >"$tmp/spec.json"
	run --spec "$tmp/spec.json"
	assert_refused "mounts"
done
for key in kind fstype fs options data flags suid dev exec; do
	printf '{"schema":"menace.spec/1","program":["true"],"mounts":[{"type":"ro","source":"/usr","dest":"/x","%s":"proc"}]}' \
		"$key" >"$tmp/spec.json"
	run --spec "$tmp/spec.json"
	assert_refused "mounts"
done

# Neither a device nor a socket nor a fifo is a place.
mkfifo "$tmp/fifo"
for source in /dev/null /dev/tty "$tmp/fifo"; do
	for option in --ro --rw; do
		run $option "$source:/x" -- true
		assert_refused "$source" "neither a regular file nor a directory"
	done
done
need_root
mknod "$tmp/null" c 1 3 || skip "no devices in $tmp"
echo plain >"$tmp/plain"
run --rw "$tmp:/x" -- sh -c 'cat /x/plain; echo >/x/null'
assert_match "$stdout" '^plain' "a file of the folder"
assert_contains "$stderr" "/x/null: Permission denied" "a device of the folder"
