/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases
 *
 * The file appears under its name already locked (O_TMPFILE, lock, link), so there
 * is no moment at which a sweep could take a living run for a dead one.  The lock
 * belongs to the open file description: the sandbox's side closes its copy as its
 * first step, and with the supervisor's death it is gone.
 */
#include "runtime/supervise/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define SWEEP_TIMEOUT_MS 5000
#define BASES_MAX 16384 /* four paths */

/* Crockford's base32: sorts as the bits do. */
static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

void mr_lease_new_id(char ret_id[MR_RUN_ID_SIZE])
{
	unsigned char random[10];
	struct timespec now;
	uint64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	mr_assert(getrandom(random, sizeof(random), 0) == (ssize_t)sizeof(random));
	for (int i = 9; i >= 0; i--, ms >>= 5)
		ret_id[i] = digits[ms & 31];
	for (int i = 0; i < 16; i++) {
		int bit = i * 5;
		unsigned int two = (unsigned int)random[bit / 8] << 8;

		if (bit / 8 + 1 < 10)
			two |= random[bit / 8 + 1];
		ret_id[10 + i] = digits[(two >> (11 - bit % 8)) & 31];
	}
	ret_id[26] = '\0';
}

/* Open dir_fd/name, made if missing; only a real directory of ours that others cannot write. */
static int open_own_dir(int dir_fd, const char *name, struct mr_error *err)
{
	mr_auto_close int fd = -1;
	struct stat st;

	if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make folder %s: %m", name);
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "open folder %s: %m", name);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return mr_err(err, MR_E_DENIED, EPERM,
			      "folder %s belongs to user %u with mode %04o; it must be ours alone",
			      name, st.st_uid, st.st_mode & 07777);
	return mr_take_fd(fd);
}

int mr_lease_open_dir(struct mr_error *err)
{
	const char *base = "/run", *xdg = getenv("XDG_RUNTIME_DIR");
	char name[32] = "menace";
	mr_auto_close int base_fd = -1;
	mr_auto_close int own = -1;
	int fd;

	if (geteuid() != 0) {
		base = xdg && xdg[0] == '/' ? xdg : "/tmp";
		if (base != xdg)
			snprintf(name, sizeof(name), "menace-%u", geteuid());
	}
	base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (base_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", base);
	own = open_own_dir(base_fd, name, err);
	if (own < 0)
		return mr_err_wrap(err, own, "%s", base);
	fd = open_own_dir(own, "leases", err);
	return fd < 0 ? mr_err_wrap(err, fd, "%s/%s", base, name) : fd;
}

static int lock_ofd(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

int mr_lease_take(int dir_fd, const char *id, const struct mr_cgroup_host *host,
		  struct mr_error *err)
{
	mr_auto_close int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[32], bases[BASES_MAX];
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make the lease of run %s: %m", id);
	r = lock_ofd(fd);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "lock the lease of run %s: %m", id);
	r = mr_cgroup_host_bases(host, bases, sizeof(bases));
	if (r >= 0)
		r = mr_write_full(fd, bases, (size_t)r);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "write the lease of run %s: %m", id);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, dir_fd, id, AT_SYMLINK_FOLLOW) < 0)
		return mr_err(err, MR_E_SYS, errno, "name the lease of run %s: %m", id);
	return mr_take_fd(fd);
}

int mr_lease_release(int dir_fd, const char *id, int lease_fd)
{
	if (lease_fd >= 0)
		unlinkat(dir_fd, id, 0);
	return mr_close(lease_fd);
}

/* The groups named in an abandoned lease. */
static int sweep_groups(int lease_fd, const char *id, struct mr_error *err)
{
	struct mr_cgroup_host *host = NULL;
	char bases[BASES_MAX];
	ssize_t n = mr_read_full(lease_fd, bases, sizeof(bases) - 1);
	int r;

	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "read the lease of run %s: %m", id);
	bases[n] = '\0';
	r = mr_cgroup_host_at(bases, &host, err);
	if (r == 0)
		r = mr_cgroup_sweep(host, id, SWEEP_TIMEOUT_MS, err);
	mr_cgroup_host_free(host);
	return r < 0 ? mr_err_wrap(err, r, "run %s", id) : 0;
}

/* 1 swept, 0 in use, negative errno. */
static int sweep_one(int dir_fd, const char *id, struct mr_error *err)
{
	mr_auto_close int fd = openat(dir_fd, id, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open the lease of run %s: %m", id);
	if (lock_ofd(fd) < 0)
		return 0;
	r = sweep_groups(fd, id, err);
	if (r < 0)
		return r;
	if (unlinkat(dir_fd, id, 0) < 0 && errno != ENOENT)
		return mr_err(err, MR_E_SYS, errno, "remove the lease of run %s: %m", id);
	return 1;
}

int mr_lease_sweep(int dir_fd, size_t *ret_failed, struct mr_error *err)
{
	mr_auto_closedir DIR *dir = NULL;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	size_t failed = 0;
	int swept = 0;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		mr_close(fd);
		return mr_err(err, MR_E_SYS, errno, "list the leases: %m");
	}
	while ((entry = readdir(dir))) {
		int r;

		if (entry->d_name[0] == '.')
			continue;
		r = sweep_one(dir_fd, entry->d_name, err);
		swept += r > 0;
		failed += r < 0;
	}
	*ret_failed = failed;
	return swept;
}
