#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Not by default: nothing of a crash is kept, inside or by a collector of the host's
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -- sh -c 'ulimit -c; cd /work; sh -c "kill -ABRT \$\$"; echo $?; ls -A'
assert_ended 0 exited
assert_eq "$(grep -v '^Aborted' "$tmp/stdout")" $'0\n134'
