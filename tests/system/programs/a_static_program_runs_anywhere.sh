#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A static program: on the host's tree, and alone in a root of its own

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/probe-syscalls"

run --ro "$MENACE_HELPERS/probe-syscalls:/probe" -- /probe
assert_status 0
assert_ge "$(wc -l <"$tmp/stdout")" 50 "lines"
assert_not_contains "$stdout" expected

mkdir "$tmp/root"
cp "$MENACE_HELPERS/probe-syscalls" "$tmp/root/probe"
run --root "$tmp/root" -- /probe
assert_status 0
assert_not_contains "$stdout" expected
