#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: denials that nobody had room for are in the sums of the result, and a menace-netd that
# did not come to its end is told
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

# More connects than a ring holds, refused by the kernel itself, to ever another address.
each=5000
cat >"$tmp/flood.py" <<'PY'
import os, socket, sys

for _ in range(3):
    os.fork()
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[1])):
    try:
        s.sendto(b"", ("198.51.%d.%d" % (i >> 8 & 255, i & 255), 7))
    except OSError:
        pass
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
PY
allowed good.example --ro "$tmp/flood.py:/flood.py" -- python3 /flood.py "$each"
assert_status 0
assert_eq "$(json .receipt.network.allowlist.connect_hook)" true hook
lost=$(json .network.allowlist.totals.lost_messages)
told=$(json '[.network.allowlist.denied[]] | add')
assert_eq $((lost + told)) $((8 * each)) "lost and told"
assert_eq "$(json .denials.by_layer.network)" $((8 * each)) "in the sum of the denials"
assert_eq "$(json '[.denials.rows[], .denials.overflow[] | select(.layer == "network") | .count] | add')" \
	$((8 * each)) "in rows and overflow"

# begin NAME OPTION...: a run whose menace-netd is stopped for good before the program ends.
begin()
{
	local in

	mkfifo "$tmp/$1.in"
	"$MENACE_RUN" -o "$tmp/$1.json" -t "$(scaled 60)" "${@:2}" -- sh -c 'echo; cat' \
		<"$tmp/$1.in" >"$tmp/$1.said" 2>"$tmp/$1.stderr" &
	pids[$1]=$!
	exec {in}>"$tmp/$1.in"
	wait_until "$(scaled 30)" test -s "$tmp/$1.said" || fail "$(cat "$tmp/$1.stderr")"
	netd=$(pgrep -P "${pids[$1]}" -x menace-netd) || fail "no menace-netd"
	kill -STOP "$netd"
	exec {in}>&-
}

# end_of NAME: its result is the one that is judged.
end_of()
{
	wait "${pids[$1]}"
	assert_eq $? 0 "exit status of $1"
	# shellcheck disable=SC2034 # of json
	result=$tmp/$1.json
	assert_eq "$(json '.receipt.degraded[] | select(.item == "network-record") | .why')" \
		'what was told of the network may not be all: menace-netd did not come to its end'
}

# Whether a mock was asked is not known then, and neither is what was denied beside what was told.
declare -A pids
begin allowlist --net allowlist
begin stub --net stub --mock a.example=body:x --net-fault dns_failure:b.example@0..

end_of allowlist
assert_eq "$(json .network.allowlist.totals)" null "totals"
assert_eq "$(json '.denials.unseen[] | select(.layer == "network") | "\(.what): \(.why)"')" \
	'what menace-netd refused and had not told yet: menace-netd did not come to its end' "denials that are not known"

end_of stub
assert_eq "$(json '.network.mocks[0] | "\(.hits) \(.unused)"')" "null null"
assert_eq "$(json '.receipt.network.stub | "\(.denied) \(.denied_untold)"')" "0 null"
assert_eq "$(json '.receipt.network.faults[0] | "\(.state) \(.measured): \(.why)"')" \
	"unknown null: what it met was not told: menace-netd did not come to its end"
