#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# ledger, a program in C that keeps a file, asks a service over sockets and copies a name into a fixed place,
# under all canonical profiles: each one happens, hostile_input alone finds that, and by the same seed all is the
# same again
#
# lane: soak (minutes; a hundred copies at once, and profiles that are about time)
# minutes 15

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/projects.sh"
build_ledger

assert_found ledger 61 hostile_input 'step "add": signaled'
