#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# rates, a package with a client of an HTTP service that asks once, under all canonical profiles: each one
# happens, flaky_upstream alone finds that, and by the same seed all is the same again
#
# lane: soak (minutes; a hundred copies at once, and profiles that are about time)
# minutes 15

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/projects.sh"
need_system_program python3

assert_found rates 16 flaky_upstream 'step "convert": exited with status 1'
assert_eq "$(json '[.cells[] | select(.arm == "on" and .scenario == "flaky_upstream") | .said] | unique[]')" \
	"urllib.error.HTTPError: HTTP Error 503: Service Unavailable"
