# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A world for --net allowlist that is nobody's network
#
# A test says, before anything else,
#
#	. "${0%/*}/../../lib/outside.sh"
#	. "${0%/*}/../../lib/system.sh"
#	start_outside
#
# and is then in a network namespace of its own (203.0.113.254, 2001:db8::fe), which stands for the
# host, with a link to a second one (203.0.113.1 to .20, .53, 2001:db8::10), where the servers of
# outside.py are.  $outside_log is what has come to them; allow LIST sets the options of a run.

if [ -z "${MENACE_OUTSIDE:-}" ]; then
	if [ "$(id -u)" -ne 0 ]; then
		echo "SKIP: not root"
		exit 77
	fi
	MENACE_OUTSIDE=1 exec unshare -n bash "$0" "$@"
fi

. "${BASH_SOURCE[0]%/*}/denials.sh"

# The processes of this test only: each by its pid.
stop_outside()
{
	exec {outside_end}>&-
	wait "$outside_pid" 2>/dev/null
}

make_certificate()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj /CN=good.example -addext "subjectAltName=DNS:good.example,DNS:other.example" \
		-keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null || fail "no certificate"
	chmod 644 "$tmp/cert.pem"
}

start_outside()
{
	need_program ip openssl python3
	modprobe -q veth 2>/dev/null
	ip link set lo up
	ip link add name inner0 type veth peer name outer0 2>/dev/null || skip "no veth"
	# No address that comes by itself some seconds later.
	ip link set inner0 addrgenmode none && ip link set outer0 addrgenmode none || fail "addrgenmode"
	make_certificate
	mkfifo "$tmp/outside.end"
	outside_log=$tmp/outside.log
	: >"$outside_log"
	# The servers wait for their link; they end with this end of the pipe.
	unshare -n sh -c '
		i=0
		until [ -e "$1/linked" ]; do sleep 0.02; done
		ip link set lo up && ip link set outer0 up || exit 1
		for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 53; do
			ip addr add "203.0.113.$i/24" dev outer0 || exit 1
		done
		ip -6 addr add 2001:db8::10/64 dev outer0 nodad || exit 1
		exec python3 "$2" "$1/ready" "$1/outside.log" "$1/cert.pem" "$1/key.pem"
	' sh "$tmp" "$repo/tests/lib/outside.py" <"$tmp/outside.end" >"$tmp/outside.out" 2>&1 &
	outside_pid=$!
	exec {outside_end}>"$tmp/outside.end"
	at_exit stop_outside
	wait_until 5 other_namespace || fail "no second network namespace"
	ip link set outer0 netns "$outside_pid" || fail "cannot hand the link over"
	ip addr add 203.0.113.254/24 dev inner0
	ip -6 addr add 2001:db8::fe/64 dev inner0 nodad
	ip link set inner0 up
	: >"$tmp/linked"
	wait_until 20 test -e "$tmp/ready" || fail "the outside did not start: $(cat "$tmp/outside.out")"
	wait_until 20 link_is_up || fail "the link is not up: $(ip -o link show inner0)"
}

link_is_up()
{
	[[ $(ip -o link show inner0) == *" state UP "* ]]
}

other_namespace()
{
	[ "$(readlink "/proc/$outside_pid/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# allowed LIST [OPTIONS] [--] PROGRAM...: a run that may reach LIST ("" for nothing).
allowed()
{
	local list=$1

	shift
	run --net allowlist ${list:+--allow "$list"} -s net.resolver=203.0.113.53 -t "$(scaled 60)" "$@"
}

# denied FILTER: rows of denials of the network as "WHAT OBJECT RULE", of those with comm of FILTER.
denied()
{
	json '.denials.rows[] | select(.layer == "network") | "\(.what) \(.object) \(.rule)"' | sort
}

# The menace-netd of this test, the one in its namespace, as $netd.
find_netd()
{
	local pid

	netd=
	for pid in $(pgrep -x menace-netd); do
		[ "$(readlink "/proc/$pid/ns/net")" = "$(readlink /proc/self/ns/net)" ] && netd=$pid
	done
	[ -n "$netd" ]
}
