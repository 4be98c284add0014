#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 12 shaped runs, four at once, some of them killed by their time: each is told its conditions, and
# no link, namespace, program of the kernel or process is left
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

with_own_network
need_link
need_program ip tc
check_leaks

ip -o link >"$tmp/links"
for ((i = 0; i < 12; i++)); do
	echo '{"schema": "menace.spec/1", "program": ["sleep", "'$((i % 6 == 0 ? 1000 : 0))'"],
		"limits": {"wall_ms": '"$((i % 6 == 0 ? 300 : 60000))"'}, "net": {"mode": "loopback",
		"loss_percent": '$((i % 3))', "duplicate_percent": 1, "rate": "50mbit", "seed": '$i'}}' |
		tr -d '\n'
	echo
done >"$tmp/specs"
run_plain "$MENACE_RUN" --batch -j 4 <"$tmp/specs"
assert_eq "$(jq -r .reason "$tmp/stdout" | sort | uniq -c | tr -s ' \n' ' ')" " 10 exited 2 wall_timeout " "ends"
assert_eq "$(jq -r '.receipt.network.shaping | .state + " " + (.applied.rate | tostring)' "$tmp/stdout" | sort -u)" \
	"enforced 50000000" "conditions in force"
assert_eq "$(jq -r '.receipt.network.shaping.applied.seed' "$tmp/stdout" | sort -n | uniq | wc -l)" 12 "seeds"
ip -o link | diff "$tmp/links" - || fail "links are left"
