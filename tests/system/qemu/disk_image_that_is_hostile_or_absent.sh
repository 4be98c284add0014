#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No image that names a file of this host is given to QEMU, nor one of an unknown format; what is
# not there is skipped. None of it starts a machine, so QEMU may be anything.
# security
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"
. "$repo/tests/lib/vm_disk.sh"

need_root
check_leaks
fake_qemu hangs
disk answers qcow2
cp "$tmp/answers" "$tmp/good"

# patched OFFSET BYTES ...: the good image with these bytes at these places.
patched()
{
	cp "$tmp/good" "$tmp/image"
	while [ $# -gt 0 ]; do
		printf '%b' "$2" | dd of="$tmp/image" bs=1 seek="$1" conv=notrunc status=none ||
			fail "cannot change the image"
		shift 2
	done
}

# ends STATUS REASON MESSAGE
ends()
{
	assert_status "$1"
	assert_reason "$2"
	assert_contains "$(json .error.message)" "$3"
	assert_contains "$(diagnostics vm_error)" "$3"
	assert_eq "$(diagnostics attempts)" 0
	assert_not_contains "$stdout$(cat "$tmp"/*.json)" root:
	assert_no_overlay
}

refused()
{
	on_disk image
	ends 2 setup_error "image $tmp/image refused: $1"
}

# A backing file at byte 0x100, of 11 bytes: /etc/shadow.
patched 256 /etc/shadow 8 '\0\0\0\0\0\0\1\0\0\0\0\013'
refused "it names another file below it (a backing file)"
# The same as JSON, which QEMU takes for a name, too.
patched 256 'json:{"driver":"raw","file.filename":"/etc/shadow"}' 8 '\0\0\0\0\0\0\1\0\0\0\0\062'
refused "it names another file below it (a backing file)"
# An external data file, with its name in an extension, with the bit and without.
patched 79 '\4' 104 'DATA\0\0\0\013/etc/shadow'
refused "it has its data in another file"
patched 104 'DATA\0\0\0\013/etc/shadow'
refused "it names another file for its data"
patched 79 '\100'
refused "it has unknown features (0x40)"
patched 0 'KDMV'
refused "its format is vmdk, not qcow2 or raw"
patched 0 'XXXX'
refused "unknown format: neither qcow2 nor a raw disk"
rm "$tmp/image"
mkdir "$tmp/image"
refused "it is no regular file"
rmdir "$tmp/image"
mkfifo "$tmp/image"
refused "it is no regular file"
rm "$tmp/image"

# What is not there is no fault of a run: it is skipped, and never done elsewhere.
on_disk image
ends 125 skipped "image missing: $tmp/image: No such file or directory"
run --preset '{"OS_TYPE": "windows"}' -- cat /etc/passwd
ends 125 skipped \
	"image missing: the system is windows, and no image of it is named (VM_SETTINGS: windows_image"
run --preset "{\"OS_TYPE\": \"macos\", \"VM_SETTINGS\": {\"windows_image\": \"$tmp/good\"}}" -- prog
ends 125 skipped "image missing: the system is macos"
MENACE_QEMU_PROGRAM=$tmp/none on_disk good
ends 125 skipped "qemu missing"

# What such a machine does not do, and what no other backend may do in its place.
on_disk good --net loopback
ends 2 setup_error "a machine with a disk of its own does not do net.mode=loopback"
on_disk good --ro "$tmp"
ends 2 setup_error "a machine with a disk of its own does not do a path shown inside"
run --backend native --set "sandbox.vm_image=$tmp/good" -- true
assert_status 125
assert_contains "$(json .error.message)" "does not do a machine with a disk of its own"
run --preset "{\"VM_SETTINGS\": {\"windows_image\": \"$tmp/good\"}}" -- true
assert_status 2
assert_contains "$stderr" "there is no image for linux"

# A folder of overlays that others can enter is none.
chmod 0755 "$MENACE_QEMU_OVERLAYS"
on_disk good
assert_status 125
assert_contains "$(json .error.message)" "it must be ours alone (0700)"
chmod 0700 "$MENACE_QEMU_OVERLAYS"

# A QEMU that its guest has taken over finds no file of this host's.
fake_qemu peeks
on_disk good
assert_status 0
assert_eq "$stdout" "" "what QEMU could open"
