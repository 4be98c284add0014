#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Out of range, against each other, without a link: refused before anything starts, by the
# name that the caller used
# sanitizers

. "${0%/*}/../../lib/system.sh"

# refuses KEY=VALUE... TEXT
refuses()
{
	local options=(--net loopback) text=${*: -1} condition

	for condition in "${@:1:$#-1}"; do
		options+=(--set "$condition")
	done
	run "${options[@]}" -- true
	assert_refused "$text"
}

refuses net.latency_ms=-1 'net.latency_ms: "-1" is not a decimal number: it is negative'
refuses net.latency_ms=3600000.001 'net.latency_ms: "3600000.001" is out of range; accepted: 0 to 3600000'
refuses net.jitter_ms=2147.001 'net.jitter_ms: "2147.001" is out of range; accepted: 0 to 2147'
refuses net.loss_percent=100.0001 'net.loss_percent: "100.0001" is not a percentage: it is out of range'
refuses net.loss_percent=nan 'net.loss_percent: "nan" is not a percentage'
refuses net.rate=7 'net.rate: "7" is out of range; accepted: 8 to 10gbit, or unlimited'
refuses net.rate=10000000001 'net.rate: "10000000001" is not a bandwidth: it is out of range'
refuses net.rate=fast 'net.rate: "fast" is not a bandwidth'
refuses net.seed=-1 'net.seed: "-1"'
refuses net.seed=9007199254740992 'net.seed: "9007199254740992" is out of range; accepted: 0 to 9007199254740991'
refuses net.reorder_percent=5 'net: reordered packets are those that are not delayed: there must be a delay'
refuses net.loss_percent=1 net.ge_p_percent=1 \
	'net: loss and the Gilbert-Elliott model are two models of loss: there can be one'
refuses net.ge_r_percent=5 'net.ge_r_percent: without net.ge_p_percent this model of loss is not in force'
refuses net.ge_bad_loss_percent=50 'net.ge_bad_loss_percent: without net.ge_p_percent'
refuses net.rate_min=2mbit net.rate_max=1mbit 'net.rate_max: is under net.rate_min'
refuses net.loss_percent=1 sandbox.level=1 sandbox.unsafe=true \
	'net.loss_percent: level 1 keeps the capability to take it away; accepted: level 2 to 5'

# What asks for nothing needs no link.
run --set net.latency_ms=0 --set net.loss_percent=0 --set net.seed=5 --set net.rate_min=1mbit -- true
assert_status 0
assert_eq "$(json .receipt.network.shaping)" null

# Without a link, by the name of who asked.
run --set net.loss_percent=5 -- true
assert_refused 'net.loss_percent: there is no link to shape but with --net loopback, stub or allowlist' \
	'--best-effort net'
run --net host -p '{"BANDWIDTH_LIMIT": "1mbps"}' -- true
assert_refused 'BANDWIDTH_LIMIT (net.rate): there is no link to shape but with'
run -p '{"MAX_BANDWIDTH": "1mbps"}' -- true
assert_refused 'MAX_BANDWIDTH (net.rate_max): there is no link'

# Tolerated, it is left out and told.
run -p '{"PACKET_LOSS": "5%", "NETWORK_LATENCY_MS": 10}' --best-effort net -- true
assert_status 0
assert_eq "$(json '.receipt.degraded | tojson')" \
	'[{"item":"net","why":"latency_ms, loss_percent: no link to shape: net.mode is none or host"}]'
assert_eq "$(json '.receipt.network.shaping | [.state, .engine, .applied, .missing, .measured.queue] | tojson')" \
	'["degraded","none",null,["latency_ms","loss_percent"],null]'
