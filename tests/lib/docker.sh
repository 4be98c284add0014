# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A Docker Engine of a test's own
#
# start_engine: dockerd in a pid, mount and network namespace of its own, so that its mounts,
# sysctls and processes are its alone and end with it; its files are below $tmp, its control
# groups below one that is named after the test.  Sets DOCKER_HOST and engine_pid.

need_engine()
{
	need_root
	need_program dockerd containerd runc curl
	! grep -q -a __asan_init "$MENACE_RUN" || skip "a leak checker does not run as the first process of a container"
	[ -d /sys/fs/cgroup/memory ] || [ -f /sys/fs/cgroup/cgroup.controllers ] ||
		skip "no control groups for dockerd"
	# dockerd's runtimes do not run below an overlay whose upper folder is one itself.
	[ "$(stat -f -c %T "$tmp")" != overlayfs ] || engine_driver=vfs
}

start_engine()
{
	local i

	engine_dir=$tmp/engine engine_group=menace-test-$$
	mkdir -p "$engine_dir" # there already where it is started again
	rm -rf "$engine_dir/pid" "$engine_dir/exec" # of processes that have ended
	at_exit stop_engine
	setsid unshare --mount --net --pid --fork --kill-child --mount-proc dockerd \
		--data-root "$engine_dir/data" --exec-root "$engine_dir/exec" \
		--pidfile "$engine_dir/pid" --host "unix://$engine_dir/sock" \
		--bridge=none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
		--userland-proxy=false --cgroup-parent="/$engine_group" \
		--storage-driver="${engine_driver:-overlay2}" --log-level warn >"$engine_dir/log" 2>&1 &
	engine_pid=$!
	export DOCKER_HOST=unix://$engine_dir/sock
	for ((i = 0; i < 600; i++)); do
		[ "$(engine_get /_ping)" = OK ] && return
		kill -0 "$engine_pid" 2>/dev/null || break
		sleep 0.1
	done
	grep -q 'Operation not permitted\|not supported' "$engine_dir/log" &&
		skip "dockerd does not start here: $(tail -n 1 "$engine_dir/log")"
	fail "dockerd does not start: $(tail -n 5 "$engine_dir/log")"
}

# engine_get PATH: what the engine answers.
engine_get()
{
	curl -s --max-time 10 --unix-socket "$engine_dir/sock" "http://engine$1"
}

# Number of containers, whatever their state.
engine_containers()
{
	engine_get '/containers/json?all=1' | jq length
}

# What it left of control groups is empty, and below the one that is ours.
stop_engine()
{
	local i

	[ -z "${engine_pid:-}" ] || kill -9 -- "-$engine_pid" 2>/dev/null
	for ((i = 0; i < 100; i++)); do
		find /sys/fs/cgroup -maxdepth 3 -depth -type d -path "*/$engine_group*" \
			-exec rmdir {} + 2>/dev/null
		[ -n "$(find /sys/fs/cgroup -maxdepth 2 -type d -name "$engine_group")" ] || break
		sleep 0.1
	done
}

# with_own_leases: the test begins once more where /run/menace is its own, so that neither what other
# tests leave is judged by it, nor what it leaves by them.  To be said first.
with_own_leases()
{
	mkdir -p /run/menace || skip "/run/menace cannot be made"
	with_own_mounts
	mount -t tmpfs -o mode=0700 none /run/menace || skip "no tmpfs can be mounted"
}

# ours NAME...: ids of processes with these names, where with_own_leases was said; no others.
ours()
{
	local name pid mine

	mine=$(readlink /proc/self/ns/mnt)
	for name; do
		for pid in $(pgrep -x "$name"); do
			[ "$(readlink "/proc/$pid/ns/mnt" 2>/dev/null)" != "$mine" ] || echo "$pid"
		done
	done
}

# nobody_cleans_up: within 30 seconds no keeper and no filler is left.
nobody_cleans_up()
{
	local i

	for ((i = 0; i < 300; i++)); do
		[ -n "$(ours menace-docker menace-keeper menace-filler)" ] || return 0
		sleep 0.1
	done
	fail "left: $(ours menace-docker menace-keeper menace-filler | xargs ps -f -p)"
}

# pool_has N: at least so many prepared containers wait, within 30 seconds.
pool_has()
{
	local i

	for ((i = 0; i < 300; i++)); do
		[ "$("$menace" pool status --json | gojq '[.containers[]|select(.state == "ready")]|length')" -ge "$1" ] &&
			return
		sleep 0.1
	done
	fail "not $1 containers wait: $("$menace" pool status --json)"
}

# nothing_is_left: no container but the foreign one, where there is one, no record, lease or file.
nothing_is_left()
{
	local i left

	for ((i = 0; i < 100; i++)); do
		left=$(engine_get '/containers/json?all=1' | jq -r '.[].Names[0]' | grep -vx /foreign)
		left+=$(find /run/menace/pool /run/menace/leases -type f ! -name '.*' 2>/dev/null)
		left+=$(find /run/menace -maxdepth 1 -name 'docker-*')
		left+=$(ours menace-filler menace-keeper)
		[ -n "$left" ] || return 0
		sleep 0.1
	done
	fail "left: $left"
}
