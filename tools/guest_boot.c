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
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/backend/qemu_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"
#include "tools/guest.h"

#define PORT_NS 10000000000ULL /* for the port to appear */
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

static int wait_for_port(int devices, struct mr_error *err)
{
	const uint64_t until = mr_now_ns() + PORT_NS;
	char text[4096];
	int port;

	while ((port = find_port()) < 0) {
		struct pollfd pfd = { .fd = devices, .events = POLLIN };
		uint64_t now = mr_now_ns();

		if (now >= until)
			return mr_err(err, MR_E_KERNEL, ENODEV,
				      "the serial port of menace-qemu does not appear");
		if (poll(&pfd, 1, (int)((until - now) / 1000000) + 1) > 0)
			while (recv(devices, text, sizeof(text), 0) > 0)
				;
	}
	return port;
}

int mr_guest_open_port(struct mr_error *err)
{
	static const struct mount mounts[] = {
		{ "devtmpfs", "/dev", NULL, true }, /* the kernel may have done it */
		{ "proc", "/proc", NULL, false },
		{ "sysfs", "/sys", NULL, false },
	};
	mr_auto_close int devices = -1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(mounts); i++)
		r = make_mount(&mounts[i], err);
	if (r == 0)
		r = devices = listen_for_devices(err);
	if (r >= 0)
		r = load_modules(err);
	return r < 0 ? r : wait_for_port(devices, err);
}

/* --- the host's files ----------------------------------------------------------------- */

static int mount_share(const char *share, struct mr_error *err)
{
	const bool is_9p = strcmp(share, "9p") == 0;

	if (mkdir(LOWER, 0755) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make " LOWER ": %m");
	if (mount("host", LOWER, share, MS_RDONLY | MS_NODEV | MS_NOSUID,
		  is_9p ? "trans=virtio,version=9p2000.L,cache=loose,msize=262144" : NULL) < 0)
		return mr_err(err, MR_E_KERNEL, errno, "mount the host's files by %s: %m", share);
	return 0;
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

int mr_guest_enter_tree(const char *share, struct mr_error *err)
{
	static const struct mount mounts[] = {
		{ "devtmpfs", "/dev", NULL, false },
		{ "proc", "/proc", NULL, false },
		{ "sysfs", "/sys", NULL, false },
		{ "devpts", "/dev/pts", "gid=5,mode=620,ptmxmode=666", false },
		{ "tmpfs", "/dev/shm", "mode=1777", false },
		{ "tmpfs", "/run", "mode=0755", false },
		{ "cgroup2", "/sys/fs/cgroup", NULL, false },
		{ "bpf", "/sys/fs/bpf", NULL, true }, /* telemetry says what it lacks */
		{ "tracefs", "/sys/kernel/tracing", NULL, true },
	};
	int r = mount_share(share, err);

	if (r == 0)
		r = lay_over(err);
	if (r == 0)
		r = switch_root(err);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(mounts); i++)
		r = make_mount(&mounts[i], err);
	if (r == 0 && symlink("/proc/self/fd", "/dev/fd") < 0)
		r = mr_err(err, MR_E_SYS, errno, "make /dev/fd: %m");
	return r < 0 ? r : delegate_controllers(err);
}
