#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A bad value is refused with exit 2, nothing on standard output, and the item,
# the value and what is accepted in the message; nothing is started or made
#
# sanitizers
# security

. "${0%/*}/../../lib/system.sh"

# refused OPTION VALUE... : none of these may start the program.
refused()
{
	refused_as "$1" "$@"
}

# refused_as ITEM OPTION VALUE... : and the message names ITEM.
refused_as()
{
	local item=$1 option=$2 value said
	shift 2
	for value; do
		said=$("$MENACE_RUN" -o "$result" "$option" "$value" -- echo started 2>&1)
		status=$?
		[ $status -eq 2 ] || fail "$option '$value' gives status $status: $said"
		[[ $said == "menace-run: "*"$item"* ]] || fail "$option '$value' is not named: $said"
		[ "$item" != "$option" ] || assert_contains "$said" "${value:0:20}" "message"
		assert_not_contains "$said" started
		assert_absent "$result"
	done
}

huge=99999999999999999999999999999
for option in --timeout --cpu-time --idle-timeout; do
	refused $option -1 +1 nan inf "$huge" "" abc 1e3 0x10 5parsecs 1,5 --5 .
done
for option in --memory --disk --output-limit; do
	refused $option -1 +1 NaN INF "$huge" "" 1x 0x10 1e3 16Q -0
done
for option in --pids --nofile; do
	refused $option -1 +1 nan "$huge" "" 1.5 1k 0x8
done
refused --cpus -0.5 +1 nan "$huge" "" 1/2 0 65
refused --level 0 6 -1 high 3.5 "$huge" ""
refused --net bridge ""
refused --uid -1 4294967295 "$huge" root ""
refused --gid -1 4294967295 wheel
refused --memory 1 1023k 65Gi
refused --pids 0
refused --nofile 0 2 1048577
refused --hostname ""
refused_as cwd --cwd relative ""
refused --env =x ''
refused --env-pass 'A=B' ''
refused --ro "" relative
refused --rw "" relative
refused --tmpfs relative
refused --hide relative ''
refused --set limits.pids_max
refused_as "limits.pids_max" --set limits.pids_max=-1 limits.pids_max= pids_max=1
refused_as nothing.known --set nothing.known=1
refused_as 'unknown key' --set =1 limits.=1
refused --best-effort everything ''
refused_as klingon --lang klingon
refused --jobs 0 65 -1 x ''
refused --json ''
refused_as '--json: ' --json FD: FD:x FD:-1 FD:99999999999
refused --log-format xml ''
refused_as CPU_LIMIT --preset '{"CPU_LIMIT": -1}' '{"CPU_LIMIT": "1e5"}' '{"CPU_LIMIT": null}'
refused_as NO_SUCH --preset '{"NO_SUCH": 1}'
refused_as preset --preset '{' '[{}, {}]' /nonexistent ''
