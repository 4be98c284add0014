/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boot of the guest
 *
 * Modules lie in the initramfs in the order of their names.  The port appears some time
 * after its driver is there: the kernel's messages about devices are listened to before it
 * is loaded.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/backend/qemu_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "tools/guest.h"

#define COMPRESSED_FILE 4 /* MODULE_INIT_COMPRESSED_FILE, Linux 5.17 */
#define LOWER "/lower" /* the host's files */
#define OVER "/over" /* the tmpfs above */
#define ROOT "/over/root"

struct mount {
	const char *type, *dest, *options;
	bool optional;
};

static int make_mount(const struct mount *m, struct mr_error *err)
{
	if (mkdir(m->dest, 0755) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make %s: %m", m->dest);
	if (mount(m->type, m->dest, m->type, MS_NOSUID, m->options) < 0 && !m->optional)
		return mr_err(err, MR_E_KERNEL, errno, "mount %s at %s: %m", m->type, m->dest);
	return 0;
}

/* Every controller for groups below the root, which no rule keeps from having processes. */
static int delegate_controllers(struct mr_error *err)
{
	char text[512];
	char *next, *word;
	ssize_t n =
		mr_read_file_at(AT_FDCWD, "/sys/fs/cgroup/cgroup.controllers", text, sizeof(text));

	if (n < 0)
		return mr_err(err, MR_E_KERNEL, (int)-n, "read cgroup.controllers: %m");
	for (word = strtok_r(text, " \n", &next); word; word = strtok_r(NULL, " \n", &next)) {
		mr_auto_free char *line = mr_str_format("+%s", word);
		int r = mr_write_file_at(AT_FDCWD, "/sys/fs/cgroup/cgroup.subtree_control", line);

		if (r < 0)
			return mr_err(err, MR_E_KERNEL, -r, "delegate the controller %s: %m", word);
	}
	return 0;
}

/* Before the host's files are there: for some of these the kernel asks for a module first, and would
 * start the host's modprobe from those, which takes longer than all the rest. */
int mr_guest_make_mounts(struct mr_error *err)
{
	static const struct mount mounts[] = {
		{ "devtmpfs", "/dev", NULL, true }, /* the kernel may have done it */
		{ "proc", "/proc", NULL, false },
		{ "sysfs", "/sys", NULL, false },
		{ "devpts", "/dev/pts", "gid=5,mode=620,ptmxmode=666", false },
		{ "tmpfs", "/dev/shm", "mode=1777", false },
		{ "tmpfs", "/run", "mode=0755", false },
		{ "cgroup2", "/sys/fs/cgroup", NULL, false },
		{ "tracefs", "/sys/kernel/tracing", NULL, true },
		{ "bpf", "/sys/fs/bpf", NULL, true }, /* telemetry says what it lacks without it */
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(mounts); i++)
		r = make_mount(&mounts[i], err);
	if (r == 0 && symlink("/proc/self/fd", "/dev/fd") < 0)
		r = mr_err(err, MR_E_SYS, errno, "make /dev/fd: %m");
	return r < 0 ? r : delegate_controllers(err);
}

static int load_module(const char *path, struct mr_error *err)
{
	mr_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char magic[4];

	if (fd < 0 || pread(fd, magic, sizeof(magic), 0) != sizeof(magic))
		return mr_err(err, MR_E_SYS, errno, "read %s: %m", path);
	if (syscall(SYS_finit_module, fd, "",
		    memcmp(magic, "\177ELF", 4) == 0 ? 0 : COMPRESSED_FILE) < 0 &&
	    errno != EEXIST)
		return mr_err(err, MR_E_KERNEL, errno, "load %s: %m", path);
	return 0;
}

static int load_modules(struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0; i++) {
		mr_auto_free char *path = mr_str_format("/modules/%03zu", i);

		if (access(path, R_OK) < 0)
			return 0;
		r = load_module(path, err);
	}
	return r;
}

/* Is /sys/class/virtio-ports/NAME ours? */
static bool is_our_port(const char *name)
{
	mr_auto_free char *path = mr_str_format("/sys/class/virtio-ports/%s/name", name);
	char text[64];
	ssize_t n = mr_read_file_at(AT_FDCWD, path, text, sizeof(text));

	return n > 0 && strcspn(text, "\n") == strlen(MR_WIRE_PORT) &&
	       mr_str_starts_with(text, MR_WIRE_PORT);
}

/* -1: it is not there yet. */
static int find_port(void)
{
	mr_auto_closedir DIR *dir = opendir("/sys/class/virtio-ports");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		mr_auto_free char *path = mr_str_format("/dev/%s", entry->d_name);
		int fd = entry->d_name[0] != '.' && is_our_port(entry->d_name)
				 ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
				 : -1;

		if (fd >= 0)
			return fd;
	}
	return -1;
}

static int listen_for_devices(struct mr_error *err)
{
	const struct sockaddr_nl all = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&all, sizeof(all)) < 0) {
		mr_close(fd);
		return mr_err(err, MR_E_SYS, errno, "listen for devices: %m");
	}
	return fd;
}

/* Until the kernel says anything of devices; false: it is too late. */
static bool hear_of_device(int devices, uint64_t until)
{
	struct pollfd pfd = { .fd = devices, .events = POLLIN };
	char text[4096];

	if (mr_now_ns() >= until)
		return false;
	if (mr_clock_poll(&pfd, 1, until) > 0)
		while (recv(devices, text, sizeof(text), 0) > 0)
			;
	return true;
}

static int wait_for_port(int devices, struct mr_error *err)
{
	const uint64_t until = mr_now_ns() + MR_PATIENCE_NS(GUEST_DEVICE);
	int port;

	while ((port = find_port()) < 0)
		if (!hear_of_device(devices, until))
			return mr_err(err, MR_E_KERNEL, ENODEV,
				      "the serial port of menace-qemu does not appear");
	return port;
}

int mr_guest_open_port(struct mr_error *err)
{
	mr_auto_close int devices = listen_for_devices(err);
	int r = devices;

	if (r >= 0)
		r = load_modules(err);
	return r < 0 ? r : wait_for_port(devices, err);
}

/* --- the host's files ----------------------------------------------------------------- */

/* Behind the one port of a machine that was kept, which the firmware has given the number 1. */
static int look_for_device(struct mr_error *err)
{
	int r = mr_write_file_at(AT_FDCWD, "/sys/class/pci_bus/0000:01/rescan", "1");

	if (r == -ENOENT)
		r = mr_write_file_at(AT_FDCWD, "/sys/bus/pci/rescan", "1");
	return r < 0 ? mr_err(err, MR_E_KERNEL, -r, "look for the device of the files: %m") : 0;
}

static int try_to_mount(const char *share, const char *options)
{
	return mount("host", LOWER, share, MS_RDONLY | MS_NODEV | MS_NOSUID, options) < 0 ? errno
											  : 0;
}

/* In a restored machine their device has only just been put in, and is not known yet (EINVAL). */
static int mount_share(const char *share, struct mr_error *err)
{
	const char *options = strcmp(share, "9p") == 0
				      ? "trans=virtio,version=9p2000.L,cache=loose,msize=262144"
				      : NULL;
	const uint64_t until = mr_now_ns() + MR_PATIENCE_NS(GUEST_DEVICE);
	mr_auto_close int devices = listen_for_devices(err);
	int errnum;

	if (devices < 0)
		return devices;
	if (mkdir(LOWER, 0755) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make " LOWER ": %m");
	errnum = try_to_mount(share, options);
	if (errnum == EINVAL) {
		int r = look_for_device(err);

		if (r < 0)
			return r;
		errnum = try_to_mount(share, options);
	}
	while (errnum == EINVAL && hear_of_device(devices, until))
		errnum = try_to_mount(share, options);
	return errnum ? mr_err(err, MR_E_KERNEL, errnum, "mount the host's files by %s: %s", share,
			       strerror(errnum))
		      : 0;
}

static int lay_over(struct mr_error *err)
{
	static const char *const folders[] = { OVER "/upper", OVER "/work", ROOT };
	const struct mount over = { "tmpfs", OVER, "mode=0755", false };
	int r = make_mount(&over, err);

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(folders); i++)
		if (mkdir(folders[i], 0755) < 0)
			r = mr_err(err, MR_E_SYS, errno, "make %s: %m", folders[i]);
	if (r == 0 && mount("overlay", ROOT, "overlay", MS_NODEV,
			    "lowerdir=" LOWER ",upperdir=" OVER "/upper,workdir=" OVER "/work") < 0)
		r = mr_err(err, MR_E_KERNEL, errno, "lay a tmpfs over the host's files: %m");
	return r;
}

static int switch_root(struct mr_error *err)
{
	if (chdir(ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		return mr_err(err, MR_E_SYS, errno, "move to the host's files: %m");
	return 0;
}

/* All that is mounted here is to be seen there, too: it has been used already, and may be in use. */
static int show_mounts(struct mr_error *err)
{
	static const char *const trees[] = { "/dev", "/proc", "/sys", "/run" };

	for (size_t i = 0; i < N_ELEMENTS(trees); i++) {
		mr_auto_free char *place = mr_str_format(ROOT "%s", trees[i]);

		if (mkdir(place, 0755) < 0 && errno != EEXIST)
			return mr_err(err, MR_E_SYS, errno, "make %s: %m", place);
		if (mount(trees[i], place, NULL, MS_BIND | MS_REC, NULL) < 0)
			return mr_err(err, MR_E_KERNEL, errno, "show %s: %m", trees[i]);
	}
	return 0;
}

static int enter_tree(struct mr_error *err)
{
	int r = lay_over(err);

	if (r == 0)
		r = show_mounts(err);
	return r < 0 ? r : switch_root(err);
}

int mr_guest_enter_tree(const char *share, struct mr_error *err)
{
	int r = mount_share(share, err);

	return r < 0 ? r : enter_tree(err);
}

/* /etc is what any sandbox shows. */
int mr_guest_enter_own_tree(struct mr_error *err)
{
	int r;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    (mkdir(LOWER, 0755) < 0 && errno != EEXIST) ||
	    mount("/", LOWER, NULL, MS_BIND, NULL) < 0)
		return mr_err(err, MR_E_SYS, errno, "show the initramfs: %m");
	r = enter_tree(err);
	if (r == 0 && mkdir("/etc", 0755) < 0 && errno != EEXIST)
		r = mr_err(err, MR_E_SYS, errno, "make /etc: %m");
	return r;
}
