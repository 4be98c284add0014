#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A script of php with a child process
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program php

cat >"$tmp/a.php" <<'END'
<?php echo array_sum([1, 2, 3]), "\n", shell_exec("echo child");
END
run "$tmp/a.php"
assert_status 0
assert_eq "$stdout" "6
child"
assert_eq "$(json .denials.total)" 0 "denials"
