# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Telemetry in tests: pinned programs of the test's own, apart from those of the
# machine, gone with the test

helper=$MENACE_HELPERS/processes
loader=${MENACE_RUN%/*}/menace-probe-load

# json as in system.sh, with execs and crashes: the details of these events with exe or name, comm and
# boot_ns beside them.
json()
{
	gojq -r 'def of($type; $object): [.telemetry.events[] | select(.type == $type)
			| .detail + {($object): .object, comm, boot_ns}];
		def execs: of("exec"; "exe");
		def crashes: of("crash"; "name");
		'"$1" "$result"
}

# Sets MENACE_BPF_DIR to a bpf file system that goes with the test.
need_telemetry()
{
	need_root
	need_cgroups
	need_file "$helper"
	need_file "$loader"
	mkdir "$tmp/bpf"
	mount -t bpf bpf "$tmp/bpf" 2>/dev/null || skip "no bpf file system"
	at_exit umount "$tmp/bpf"
	export MENACE_BPF_DIR=$tmp/bpf
	run -q -- true
	assert_status 0
	[ "$(json .telemetry.level)" = default ] || skip "no telemetry: $(json .telemetry.reason)"
	at_exit purge_probes
}

# All that the test loaded must be free to go.
purge_probes()
{
	local said

	said=$("$loader" purge) && [ -z "$(list_sets)" ] && return
	echo "FAIL: probes are left: $said"
	# shellcheck disable=SC2034 # of end_test
	code=1
}

list_sets()
{
	find "$MENACE_BPF_DIR" -maxdepth 1 -name 'menace-[0-9a-f]*-*'
}

# run_inside OPTION... -- MODE ARGUMENT...: the helper `processes` in the sandbox.
run_inside()
{
	local options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	run -q -t "$(scaled 60)" --ro "$helper:/processes" "${options[@]}" -- /processes "$@"
}

# Facts that must hold whatever was run.
assert_books()
{
	assert_eq "$(json '.telemetry.books | .delivered + .lost == .emitted')" true "books of the events"
	assert_eq "$(json .telemetry.books.malformed)" 0 "malformed events"
	assert_eq "$(json .telemetry.books.failed_reads)" 0 "failed reads"
	assert_eq "$("$loader" entries)" "" "groups still observed"
}

# assert_processes FORKS EXECS: all of them ended.
assert_processes()
{
	assert_eq "$(json .telemetry.counters.forks)" "$1" forks
	assert_eq "$(json .telemetry.counters.execs)" "$2" execs
	assert_eq "$(json .telemetry.counters.exits)" "$1" exits
	assert_books
}
