#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A machine that boots from an image of the user's: the agent in it gets the order, its output and
# result are those of the run, and the image is as it was.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"
. "$repo/tests/lib/vm_disk.sh"

need_qemu
check_leaks
for what in answers signals writes; do
	disk "$what"
done

on_disk answers --env A=1 --cwd /srv
assert_status 7
assert_reason exited
assert_eq "$(jq -c 'del(.time_ns)' <<<"$stdout")" \
	'{"schema":"menace.order/1","argv":["prog","an arg"],"env":["A=1"],"cwd":"/srv"}'
assert_le "$(date +%s)" $(($(jq '.time_ns / 1e9 | floor' <<<"$stdout") + 60)) "time in the order"
assert_contains "$stderr" oops
assert_eq "$(json .stderr.text)" oops
assert_eq "$(json '[.receipt.backend.name, (.receipt.backend.losses | map(.item) | index("vm") != null)] | join(" ")')" \
	"qemu true"
assert_eq "$(json '.diagnostics | [.backend, .attempts, .os, .image_format, .vm_error, .qemu_exit, .memory_mib] | map(tostring) | join(" ")')" \
	"qemu 1 linux raw null null 2048"
assert_contains "$(diagnostics console_tail)" "guest here"
assert_no_overlay

# The same as qcow2, by a preset, whose sizes and times have the grammar of all others.
disk answers qcow2
before=$(sha256sum <"$tmp/answers")
run --preset "{\"OS_TYPE\": \"Linux\", \"CONTAINER_IMAGE\": \"python:3.11-linux\",
	\"VM_SETTINGS\": {\"linux_image\": \"$tmp/answers\", \"image\": \"/none\", \"memory\": \"0.25Gi\",
	\"timeout\": \"1m\"}, \"TIMEOUT\": 5}" -- prog
assert_status 7
assert_eq "$(json '.diagnostics | "\(.image_format) \(.memory_mib)"')" "qcow2 256"
assert_eq "$(json .limits.wall_ms)" 60000
assert_eq "$(sha256sum <"$tmp/answers")" "$before" "the image"

on_disk signals
assert_status 139
assert_reason signaled

# What the guest writes goes to the overlay, as far as it is allowed to.
before=$(sha256sum <"$tmp/writes")
chmod 0400 "$tmp/writes"
on_disk writes
assert_status 0
assert_le 65536 "$(diagnostics overlay_bytes)" "bytes of the overlay"
on_disk writes --disk 64Ki
assert_status 28
assert_reason disk_limit
assert_eq "$(json '.limits_hit | join(" ")')" disk "limits hit"
assert_eq "$(sha256sum <"$tmp/writes")" "$before" "the image"
assert_no_overlay
