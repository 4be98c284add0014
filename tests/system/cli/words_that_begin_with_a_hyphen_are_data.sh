#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# After -- and after the program nothing is an option
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

run -- echo -n --memory=1 -t
assert_eq "$status" 0
assert_eq "$stdout" "--memory=1 -t"

run echo --timeout -- --version
assert_status 0
assert_eq "$stdout" "--timeout -- --version"

run -- --version
assert_status 127
assert_eq "$stdout" ""
assert_contains "$stderr" "--version"

run -- -rf
assert_status 127

cd "$tmp" || fail
printf '#!/bin/sh\necho mine "$@"\n' >./-x.sh
chmod 755 ./-x.sh
run --lang sh -- -x.sh -y
assert_status 0
assert_eq "$stdout" "mine -y"

run -- sh -c 'printf "%s|" "$0" "$@"' '' 'a b' $'new\nline' -- ''
assert_eq "$(cat "$tmp/stdout")" "|a b|new
line|--||" "arguments"
