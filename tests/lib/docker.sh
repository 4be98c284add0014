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
	mkdir "$engine_dir"
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
