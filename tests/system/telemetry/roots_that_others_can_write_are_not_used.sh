#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A bpf file system in which anybody can make folders is passed over for one of our own
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
unset MENACE_BPF_DIR
# In mounts of the test's own: /sys/fs/bpf as mount(8) makes it, and nothing in /run/menace.
cat >"$tmp/inside" <<'SH'
set -e
mount -t tmpfs -o mode=0755 none /run/menace
mount -t bpf -o mode="$1" bpf /sys/fs/bpf
"$MENACE_RUN" -q -o "$2" -- true
find /run/menace/bpf /sys/fs/bpf -maxdepth 1 -name 'menace-[0-9a-f]*-*' -printf '%h\n' 2>/dev/null || :
"$3" purge >/dev/null
SH
mkdir -p /run/menace
assert_eq "$(unshare -m bash "$tmp/inside" 1777 "$result" "$loader")" /run/menace/bpf "place of the set"
assert_eq "$(json .telemetry.level)" default level
assert_eq "$(unshare -m bash "$tmp/inside" 0700 "$result" "$loader")" /sys/fs/bpf "place of the set"
assert_eq "$(json .telemetry.level)" default level
