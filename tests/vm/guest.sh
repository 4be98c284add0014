#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Process 1 of the guest after the hand-over
#
# Makes the machine look like a host with pure cgroup v2, every controller
# delegated, then runs the tests with ctest and sends its JUnit file out by the
# second serial port.  The first carries the console.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LANG=C.UTF-8 TERM=dumb MENACE_VM=1 MENACE_SLOWDOWN=5
config=/.menace-vm
# shellcheck disable=SC1090
. "$config"

# QEMU is started with -no-reboot: this ends it at once.
power_off()
{
	echo b >/proc/sysrq-trigger
}

say()
{
	echo "menace-vm: $*"
}

# The folders that the tests need: one, unless the build is kept elsewhere.
# shellcheck disable=SC2154 # source_dir and build_dir: configuration
needed_dirs()
{
	echo "$source_dir"
	case $build_dir in
	"$source_dir"/*) ;;
	*) echo "$build_dir" ;;
	esac
}

# A tmpfs at $1 that still shows the needed folders, should they be below.
mount_temporary()
{
	local dir dirs

	mapfile -t dirs < <(needed_dirs | grep "^$1/")
	for dir in "${dirs[@]}"; do
		mkdir -p "/run/menace-vm$dir" && mount --bind "$dir" "/run/menace-vm$dir" || return 1
	done
	mount -t tmpfs -o mode=1777 tmp "$1" || return 1
	for dir in "${dirs[@]}"; do
		mkdir -p "$dir" && mount --move "/run/menace-vm$dir" "$dir" || return 1
	done
	rm -rf --one-file-system /run/menace-vm
}

mount_all()
{
	mount -t proc proc /proc &&
	mount -t sysfs sysfs /sys &&
	mkdir -p /dev/pts /dev/shm &&
	ln -sfn /proc/self/fd /dev/fd &&
	ln -sfn /proc/self/fd/0 /dev/stdin &&
	ln -sfn /proc/self/fd/1 /dev/stdout &&
	ln -sfn /proc/self/fd/2 /dev/stderr &&
	mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts &&
	mount -t tmpfs -o mode=1777 shm /dev/shm &&
	mount -t tmpfs -o mode=755 run /run &&
	mount_temporary /tmp &&
	mount_temporary /var/tmp &&
	mount -t cgroup2 cgroup2 /sys/fs/cgroup &&
	mount -t tracefs tracefs /sys/kernel/tracing
}

# Processes of the root cgroup do not stop the delegation: the rule against
# inner processes does not bind the root.
delegate_controllers()
{
	local controller controllers
	read -r -a controllers </sys/fs/cgroup/cgroup.controllers
	for controller in "${controllers[@]}"; do
		echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control || return 1
	done
	say "cgroup controllers: $(cat /sys/fs/cgroup/cgroup.subtree_control)"
}

use_kernel_modules()
{
	# modules_dir comes from the configuration.
	# shellcheck disable=SC2154
	mkdir -p /lib/modules && ln -sfn "$modules_dir" "/lib/modules/$(uname -r)"
	modprobe -a loop 2>/dev/null || say "no loop devices"
	modprobe tun 2>/dev/null || say "no tun"
}

# The tests' temporary folders on a real file system: the tmpfs of this kernel cannot be mounted
# with ids mapped, which a workspace needs.
use_real_temporary()
{
	truncate -s 2G /run/temporary.img &&
		mkfs.ext4 -q -O ^has_journal -E lazy_itable_init=1,nodiscard /run/temporary.img &&
		mkdir -p /menace-temporary &&
		mount -o loop /run/temporary.img /menace-temporary &&
		chmod 1777 /menace-temporary &&
		export TMPDIR=/menace-temporary
}

# A filter of incoming packets that stays.  The first one in a kernel and the last make it patch the code
# that each packet goes through, and QEMU before 8.1 may go on for ever in what it translated of that at
# the wrong moment: a processor that is stuck, by no fault of whoever sends.
keep_filters_on()
{
	: >/run/filters.net && unshare --net=/run/filters.net tc qdisc add dev lo clsact
}

# send_results TOPIC FILE
send_results()
{
	{
		echo "menace-vm results begin $1"
		cat "$2"
		echo "menace-vm results end $1"
	} >/dev/ttyS1
}

# The names of the tests that are asked for, a line each.
list_tests()
{
	# shellcheck disable=SC2154 # build_dir, labels, only: configuration
	ctest --test-dir "$build_dir" -N -L "$labels" ${only:+-R "$only"} |
		sed -n 's/^ *Test *#[0-9]*: *//p'
}

# run_topics TOPIC+...: all their tests, and out with the results.  1: there are none, ctest died.
run_topics()
{
	local results=/run/results.xml names

	names=$(grep -E "^(${1//+/|})/[^/]*\$" /run/tests | paste -s -d '|')
	rm -f "$results"
	# shellcheck disable=SC2154 # build_dir, labels, jobs: configuration
	ctest --test-dir "$build_dir" -L "$labels" -R "^($names)\$" -j "$jobs" --timeout 300 \
		--output-junit "$results" --output-on-failure --test-output-size-passed 65536 \
		--no-tests=error
	[ -s "$results" ] || { say "no results of $1"; return 1; }
	send_results "$1" "$results"
}

# The topics, a line for as many as have a few tests together: at the end of each line one
# processor waits for the other's last test.
group_topics()
{
	sed 's,/[^/]*$,,' /run/tests | sort | uniq -c | awk '
		{ line = line (line == "" ? "" : "+") $2; n += $1 }
		n >= 24 { print line; line = ""; n = 0 }
		END { if (line != "") print line }'
}

main()
{
	local topic topics all=yes

	mount_all || { say "cannot mount the basic file systems"; power_off; }
	delegate_controllers || { say "cannot delegate the cgroup controllers"; power_off; }
	use_kernel_modules
	use_real_temporary || say "no ext4 on a loop device: temporary folders stay on tmpfs"
	keep_filters_on || say "no filters that stay"
	echo 2 >/proc/sys/kernel/printk # out-of-memory kills are what the tests want
	hostname menace-vm
	ip link set lo up
	say "up after $(cut -d' ' -f1 /proc/uptime) s, kernel $(uname -r)"

	stty -F /dev/ttyS1 raw -echo
	list_tests >/run/tests
	# shellcheck disable=SC2154 # topics_done: configuration, those of an earlier boot
	mapfile -t topics < <(group_topics)
	for topic in "${topics[@]}"; do
		[[ " $topics_done " == *" $topic "* ]] || run_topics "$topic" || all=no
	done
	[ $all = no ] || send_results all /dev/null
	say "done after $(cut -d' ' -f1 /proc/uptime) s"
	power_off
}

main </dev/null >/dev/console 2>&1
power_off
