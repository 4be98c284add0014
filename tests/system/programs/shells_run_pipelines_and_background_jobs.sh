#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Pipelines, process substitution, here-documents, traps, background jobs and
# coprocesses in bash and sh, without a denial
#
# kernel

. "${0%/*}/../../lib/system.sh"

need_root

cat >"$tmp/a.bash" <<'END'
set -euo pipefail
seq 1000 | sort -rn | head -n 3 | tr '\n' ' ' || true
echo
(diff <(echo a) <(echo b) || true) | head -n 1
cat <<<"here"
trap 'echo usr1' USR1
kill -USR1 $$
sleep 0.01 & wait $!
coproc cat
echo co >&"${COPROC[1]}"; read -r x <&"${COPROC[0]}"; echo "$x"
mkfifo fifo
(echo through >fifo &)
cat fifo
exec 9>lock; flock 9 echo locked
(ulimit -n 50; ulimit -n)
find /usr/bin -maxdepth 1 -name sh | xargs -n 1 basename
dd if=/dev/zero bs=1k count=10 2>/dev/null | gzip | gunzip | wc -c
echo "$((2 ** 40)) ${BASH_VERSINFO[0]}" | cut -d' ' -f1
END
run --lang bash "$tmp/a.bash"
assert_status 0
assert_eq "$stdout" "1000 999 998 
1c1
here
usr1
co
through
locked
50
sh
10240
1099511627776"
assert_eq "$(json .denials.total)" 0 "denials"
