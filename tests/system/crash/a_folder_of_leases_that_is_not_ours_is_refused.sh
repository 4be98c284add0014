#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Leases in a folder that somebody else owns or can write would let him decide
# what is swept
# security

. "${0%/*}/../../lib/system.sh"

need_unprivileged_user
mkdir "$tmp/runtime"
chown 65534:65534 "$tmp/runtime"
export XDG_RUNTIME_DIR=$tmp/runtime
ours=("${as_user[@]}" "$MENACE_RUN" -q --best-effort cgroup)

run_plain "${ours[@]}" -- echo ok
assert_eq "$status $stdout" "0 ok" "in a folder of its own"
assert_eq "$(stat -c %a:%u "$tmp/runtime/menace/leases")" 700:65534 "the folder made"

chmod 770 "$tmp/runtime/menace"
run_plain "${ours[@]}" -- echo no
assert_status 125
assert_eq "$stdout" ""
assert_contains "$stderr" "folder menace belongs to user 65534 with mode 0770; it must be ours alone"

rm -r "$tmp/runtime/menace"
mkdir "$tmp/runtime/menace"
run_plain "${ours[@]}" -- echo no
assert_status 125
assert_contains "$stderr" "folder menace belongs to user 0 with mode 0755; it must be ours alone"

rmdir "$tmp/runtime/menace"
mkdir "$tmp/elsewhere"
chown 65534:65534 "$tmp/elsewhere"
ln -s "$tmp/elsewhere" "$tmp/runtime/menace"
run_plain "${ours[@]}" -- echo no
assert_status 125
assert_eq "$(ls "$tmp/elsewhere")" "" "the folder behind a link"

# What is to be changed is named.
export XDG_RUNTIME_DIR=$tmp/none
run_plain "${ours[@]}" -- echo no
assert_status 125
assert_contains "$stderr" "XDG_RUNTIME_DIR (unset it and /tmp is used): open $tmp/none: No such file or directory"
mkdir "$tmp/roots"
export XDG_RUNTIME_DIR=$tmp/roots
run_plain "${ours[@]}" -- echo no
assert_status 125
assert_contains "$stderr" "XDG_RUNTIME_DIR (unset it and /tmp is used): $tmp/roots: make folder menace: Permission denied"
