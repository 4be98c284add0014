# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of the conditions of a link share; after system.sh and limits.sh

# with_own_network: the test begins once more in a network namespace that is nobody else's and stands for the host.  To be
# said before check_leaks.
with_own_network()
{
	[ -z "${MENACE_TEST_OWN_NETWORK-}" ] || return 0
	need_root
	need_program ip
	remove_tmp || exit 1
	MENACE_TEST_OWN_NETWORK=1 exec unshare --net sh -c 'ip link set lo up && exec bash "$0"' "$0"
}

need_link()
{
	need_root
	[ -x "$helpers/net-link" ] || skip "no test helpers in $helpers"
}

# 0: this kernel has sch_netem.
has_netem()
{
	run --backend native --net loopback --set net.latency_ms=1 --set net.engine=netem -- true
	[ "$status" -eq 0 ] && return 0
	assert_status 125
	assert_contains "$stderr" "this kernel has no sch_netem"
	return 1
}

# 0: there is the driver for the relay; what else may be missing is a fault.
has_tun()
{
	run --backend native --net loopback --set net.latency_ms=1 --set net.engine=tun -- true
	[ "$status" -eq 0 ] && return 0
	assert_status 125
	assert_contains "$stderr" "tun: open /dev/net/tun: "
	return 1
}

# Sets delay_engines: those that can delay packets here.
need_delay_engines()
{
	need_root
	delay_engines=()
	! has_netem || delay_engines+=(netem)
	! has_tun || delay_engines+=(tun)
	[ ${#delay_engines[@]} -gt 0 ] || skip "neither sch_netem nor /dev/net/tun"
}

need_tun()
{
	need_root
	has_tun || skip "no /dev/net/tun"
	[ -x "$helpers/net-link" ] || skip "no test helpers in $helpers"
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
	gojq -r ".$1" <<<"$link"
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
