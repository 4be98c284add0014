#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 32 runs at once need more open files than an ordinary soft limit allows: it is raised, for us and not
# for the programs, and where the hard limit is as low, the runs get what there is
#

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups

many=32
mkdir "$tmp/came" "$tmp/gate"
mkfifo "$tmp/gate/open"
exec 9<>"$tmp/gate/open"
chmod 777 "$tmp/came"
for ((i = 0; i < many; i++)); do
	printf '{"schema": "menace.spec/1", "program": ["sh", "-c", "%s"]}\n' \
		": >/came/$i; read -r _ </gate/open; ulimit -Sn; ulimit -Hn"
done >"$tmp/specs"

have_come()
{
	[ "$(find "$tmp/came" -type f | wc -l)" -eq "$many" ]
}

# No run ends before all of them are there.
open_gate()
{
	wait_until 50 have_come
	printf '\n%.0s' $(seq "$many") >&9
}

# batch ulimit's options...: what the runs came to, as "NUMBER REASON OUTPUT".
batch()
{
	local opener

	rm -f "$tmp/came/"*
	open_gate &
	opener=$!
	(ulimit "$@" && exec "$MENACE_RUN" --batch -j $many -t "$(scaled 100)" --set limits.nofile=500 \
		--rw "$tmp/came:/came" --ro "$tmp/gate:/gate" 9>&-) <"$tmp/specs" >"$tmp/stdout" 2>"$tmp/stderr" || echo "status $?"
	wait "$opener"
	gojq -r '"\(.reason) \(.error.message) \(.stdout.text | @json)"' "$tmp/stdout" | sort | uniq -c
}

assert_eq "$(batch -Sn 1024)" "     $many exited null \"500\\n500\\n\"" "with a soft limit of 1024"
assert_eq "$(cat "$tmp/stderr")" ""
assert_eq "$(batch -n 1024)" "     $many exited null \"500\\n500\\n\"" "with a hard limit of 1024"
assert_contains "$(cat "$tmp/stderr")" "32 runs at once may need 2112 open files, and the hard limit is 1024: raise it"
