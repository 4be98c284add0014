#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Behaviours of tests/conformance in virtual machines, those that differ most between kernels: a
# machine takes seconds.  All of them, by hand:
#
#	MENACE_QEMU_KERNEL=/var/cache/menace-vm/.../vmlinuz-... tests/conformance/run --backend qemu -j 2
#
# lane: machine

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_machine
need_system_program python3 perl
need_program python3

"$repo/tests/conformance/run" --backend qemu --subset -j "$(nproc)" || fail "a difference is not stated"
