#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A snippet is run by its shebang first, then by its extension, then as it is;
# --lang wins over all; -c and - take the text
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3 perl

cd "$tmp" || fail
printf 'print(6 * 7)\n' >a.py
run a.py
assert_eq "$status:$stdout" 0:42 "by extension"

printf 'import sys\nprint(sys.argv[1:])\n' >b.py
run b.py -x '' 'y z'
assert_eq "$status:$stdout" "0:['-x', '', 'y z']" "arguments"

printf '#!/usr/bin/perl\nprint 6 * 7, "\\n"\n' >c.py
run c.py
assert_eq "$status:$stdout" 0:42 "shebang before extension"

printf '#!/bin/sh\necho "sh $1"\n' >noext
run ./noext one
assert_eq "$status:$stdout" "0:sh one" "shebang without extension"

printf 'echo "no shebang $0"\n' >d.sh
run d.sh
assert_eq "$status" 0
assert_contains "$stdout" "no shebang"

cp /usr/bin/true ./compiled
run ./compiled
assert_status 0
assert_reason exited

run --lang python a.py
assert_eq "$status:$stdout" 0:42 "--lang with a file"
cp a.py strange.txt
run --lang python strange.txt
assert_eq "$status:$stdout" 0:42 "--lang beats the extension"

run --lang python -c 'import sys; print(sys.argv[1])' 'an arg'
assert_eq "$status:$stdout" "0:an arg" "-c"
run --lang py -c 'print(1)'
assert_eq "$status:$stdout" 0:1 "alias"
run -c $'#!/usr/bin/perl\nprint "perl\\n";'
assert_eq "$status:$stdout" 0:perl "-c with a shebang"
run -c 'echo no language'
assert_refused lang

printf 'print("from stdin")\n' >in
run --lang python - x <in
assert_eq "$status:$stdout" "0:from stdin" "- with --lang"
printf '#!/bin/sh\necho shebang $1\n' >in
run - y <in
assert_eq "$status:$stdout" "0:shebang y" "- with a shebang"

# Nothing of the host's folder is shown but the snippet.
printf 'import os\nprint(sorted(os.listdir(".")))\n' >e.py
run e.py
assert_eq "$status:$stdout" "0:[]" "the snippet's folder"

run missing.py
assert_status 127

printf 'syntax error (\n' >f.py
run f.py
assert_status 1
assert_contains "$stderr" SyntaxError
assert_reason exited
