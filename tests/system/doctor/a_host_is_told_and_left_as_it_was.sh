#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace doctor: every feature by use, with errno, consequence and fix where it is not there;
# what it made is gone afterwards
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"

need_root
need_cgroups

# What check_leaks does not see: mounts of this namespace are seen, modules and pins are not.
look_around()
{
	cut -d ' ' -f 1 /proc/modules 2>/dev/null | sort
	grep -v /menace-test /proc/self/mountinfo # others may be running
	find "$MENACE_BPF_DIR" -mindepth 1 | sort
}
need_telemetry
check_leaks
look_around >"$tmp/before"
menace doctor --json
cp "$tmp/stdout" "$tmp/told"
gone()
{
	look_around >"$tmp/after"
	cmp -s "$tmp/before" "$tmp/after"
}
wait_until 30 gone || fail "it left something: $(diff "$tmp/before" "$tmp/after")"
assert_status 0
assert_eq "$stderr" ""
told()
{
	gojq -c "$1" "$tmp/told"
}
assert_eq "$(told '[.well, .uid, .kernel]')" "[true,0,\"$(uname -r)\"]" "the host"
# It agrees with what a run finds.
assert_eq "$(told '.checks[] | select(.group == "cgroup" and .name == "mode") | [.state, .detail]')" \
	"[\"ok\",\"$(json .receipt.cgroup.mode)\"]" "mode of control groups"
abi=$(json .receipt.landlock.abi)
assert_eq "$(told '.checks[] | select(.name == "abi") | .detail | tostring | startswith("ABI '"$abi"'")')" true "ABI of Landlock"
# Everything a default run needs is there, each by name.
assert_eq "$(told '[.checks[] | select(.group == "namespace") | [.name, .state]]')" \
	'[["user","ok"],["mnt","ok"],["pid","ok"],["ipc","ok"],["uts","ok"],["cgroup","ok"],["net","ok"],["time","ok"]]' namespaces
assert_eq "$(told '[.checks[] | select(.needed and .state == "missing")]')" "[]" "needed and missing"
assert_eq "$(told '[.checks[] | select(.group == "cgroup" and (.name == "memory" or .name == "pids")) | [.needed, .state]]')" \
	'[[true,"ok"],[true,"ok"]]' "controllers"
# One row for each row of the table of probes, and what is not there says what it means.
rows=$(grep -c '^PROBE(' "$repo/bpf/probes.def")
assert_eq "$(told '[.checks[] | select(.group == "probe")] | length')" "$rows" "probes"
assert_eq "$(told '[.checks[] | select(.state != "ok" and ((.consequence // "") == "" or (.fix // "") == ""))]')" "[]" \
	"rows that do not help"
assert_eq "$(told '[.checks[] | select(.state == "missing" and (.errno == null or .errno_name == null))]')" "[]" \
	"missing without an errno"
assert_eq "$(told '[.checks[] | select(.state == "ok" and .errno != null)]')" "[]" "ok with an errno"
# netem and the kinds of programs as the kernel at hand has them.
if [ "$(told '.checks[] | select(.name == "netem") | .state')" = '"ok"' ]; then
	unshare -n tc qdisc add dev lo root netem delay 1ms 2>/dev/null || ! command -v tc >/dev/null || fail "netem"
fi
assert_eq "$(told '.checks[] | select(.name == "raw_tracepoint") | .state')" '"ok"' "raw tracepoints"
# A kind of program that probes are of is not called unused.
for kind in fentry:FENTRY sock_ops:'"sockops"' cgroup_skb:gress raw_tracepoint:RAW_TP; do
	grep -q "^PROBE(.*${kind#*:}" "$repo/bpf/probes.def" || fail "no probe is ${kind#*:} any more"
	! grep "^CHECK(\"telemetry\", \"${kind%%:*}\"," "$repo/tools/doctor.def" | grep -q "no probe uses it" ||
		fail "${kind%%:*} is used"
done

# Bytes that are no text, in a path.
run_plain env DOCKER_HOST="unix://$tmp/"$'\xff' "$MENACE" doctor --json
assert_eq "$(gojq -r '.checks[] | select(.name == "docker") | .detail' "$tmp/stdout")" \
	'DOCKER_HOST is not UTF-8; accepted: unix:///PATH and tcp://HOST:PORT'

menace doctor
assert_status 0
assert_match "$stdout" '^STATE    GROUP     CHECK                    ERRNO        WHAT'
assert_match "$stdout" $'\nok       namespace time                     -'
assert_contains "$stdout" "all that a run with nothing but defaults needs is here"
assert_eq "$(grep -c . "$tmp/stdout")" $(($(told '.checks | length') + 2)) "one line a check"
