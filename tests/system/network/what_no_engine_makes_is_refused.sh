#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without an engine for it a delay ends the run before its first instruction; tolerated it is left out
# by name, and the rest is made.  An ordinary user's kernel loads no programs of his, so
# without netem he has a rate alone.
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link

need_delay_engines
for engine in "${delay_engines[@]}"; do
	# Here everything is made, at once.
	shaped latency_ms=1 jitter_ms=0.5 loss_percent=1 duplicate_percent=1 corrupt_percent=1 \
		reorder_percent=1 rate=100mbit "engine=$engine"
	run_helper "${options[@]}" -- net-link 1 64 0 1 100
	assert_status 0
	case $engine in
	netem) assert_match "$(shaping engine)" '^netem(\+tc-bpf)?$' ;;
	tun) assert_eq "$(shaping engine)" tun+tbf+tc-bpf ;;
	esac
	assert_eq "$(shaping 'applied | [.latency_ms, .jitter_ms, .loss_percent, .duplicate_percent, .corrupt_percent, .reorder_percent, .rate] | tojson')" \
		'[1,0.5,1,1,1,1,100000000]'
done

touch "$tmp/begun"
chmod 666 "$tmp/begun"
for condition in latency_ms=5 jitter_ms=5 "latency_ms=5 loss_percent=3"; do
	# shellcheck disable=SC2086 # words
	shaped $condition engine=bpf
	run "${options[@]}" --rw "$tmp/begun:/begun" -- sh -c 'echo yes >/begun'
	assert_status 125
	assert_eq "$(cat "$tmp/begun")" "" "what was run"
	assert_contains "$stderr" "shape: ${condition%%=*} cannot be made here: sch_netem is not to be used, and what may be used without it"
	assert_contains "$stderr" "--best-effort net"
	assert_eq "$(shaping state)" unknown
done

shaped latency_ms=5 loss_percent=100 engine=bpf
run_helper "${options[@]}" --best-effort net -- net-link 50 64 0 100 100
assert_status 0
assert_eq "$(jq .lost <<<"$stdout")" 50 "lost"
assert_eq "$(json '.receipt.network.shaping | [.state, .engine, .missing[], .applied.loss_percent, .applied.latency_ms] | tojson')" \
	'["degraded","tc-bpf","latency_ms",100,null]'
assert_match "$(json '.receipt.degraded[0] | .item + " " + .why')" \
	'^net latency_ms: sch_netem is not to be used'

# By netem alone, where there is none: nothing is put in its place.
[ "${delay_engines[0]}" != netem ] || exit 0
shaped loss_percent=5 rate=1mbit engine=netem
run "${options[@]}" -- true
assert_status 125
assert_contains "$stderr" "shape: loss_percent, rate cannot be made here: this kernel has no sch_netem;"

# Without the device there is no relay, and a device is nothing that a user may open.
need_unprivileged_user
shaped latency_ms=5
run_plain "${as_user[@]}" "$MENACE_RUN" --best-effort cgroup "${options[@]}" -- true
assert_status 125
assert_contains "$stderr" "latency_ms cannot be made here: this kernel has no sch_netem, and t"
shaped loss_percent=5
run_plain "${as_user[@]}" "$MENACE_RUN" --best-effort cgroup "${options[@]}" -- true
assert_status 125
assert_contains "$stderr" "loss_percent cannot be made here"
