# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of the conditions of a link share; after system.sh and limits.sh

need_link()
{
	need_root
	[ -x "$helpers/net-link" ] || skip "no test helpers in $helpers"
}

# 0: this kernel can delay packets.
has_netem()
{
	run --backend native --net loopback --set net.latency_ms=1 -- true
	[ "$status" -eq 0 ] && return 0
	assert_status 125
	assert_contains "$stderr" "this kernel has no sch_netem"
	return 1
}

need_netem()
{
	has_netem || skip "no sch_netem"
}

# Options of menace-run for conditions of this kernel's making: shaped KEY=VALUE...
shaped()
{
	local condition

	options=(--backend native --net loopback)
	for condition; do
		options+=(--set "net.$condition")
	done
}

# send COUNT SIZE GAP_US WINDOW WAIT_MS: under the conditions of `shaped`; $link is what net-link
# prints.
send()
{
	run_helper "${options[@]}" -- net-link "$@"
	assert_status 0
	link=$stdout
}

link()
{
	jq -r ".$1" <<<"$link"
}

shaping()
{
	json ".receipt.network.shaping.$1"
}

# within COUNT OF PROBABILITY [SPREAD]: in the interval that holds 99 % of all such counts, the
# variance SPREAD times that of packets that are hit each by itself.
within()
{
	awk -v k="$1" -v n="$2" -v p="$3" -v f="${4:-1}" 'BEGIN {
		d = k - n * p; if (d < 0) d = -d
		exit !(d <= 2.576 * sqrt(n * p * (1 - p) * f) + 0.5) }'
}

# near VALUE WANTED PERCENT
near()
{
	awk -v v="$1" -v w="$2" -v q="$3" 'BEGIN {
		d = v - w; if (d < 0) d = -d; exit !(d <= w * q / 100) }'
}

# twice COMMAND...: of a hundred right ones a test of 99 % refuses one, of ten thousand one twice.
twice()
{
	"$@" || "$@"
}

# patiently COMMAND...: where times are measured, a machine that others keep busy gets more chances.
patiently()
{
	local i

	for ((i = 0; i < 5; i++)); do
		"$@" && return
	done
	return 1
}
