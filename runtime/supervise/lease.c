/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases
 *
 * The file appears under its name already locked (O_TMPFILE, lock, link), so there
 * is no moment at which a sweep could take a living run for a dead one.  The lock
 * belongs to the open file description: the sandbox's side closes its copy as its
 * first step, and with the supervisor's death it is gone.
 *
 *   BASE directories, one a line
 *   (an empty line)
 *   PID BEGIN            of the supervisor; CLOCK_BOOTTIME in ns
 *   PROGRAM NUL NAME NUL
 *
 * Sockets of those who asked to follow a run lie beside the leases (follow.h).
 */
#include "runtime/supervise/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/die_at.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/supervise/follow.h"

#define BASES_MAX 16384 /* four paths */
#define TEXT_MAX (BASES_MAX + 1024)

/* Crockford's base32: sorts as the bits do. */
static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

void mr_lease_new_id(char ret_id[MR_RUN_ID_SIZE])
{
	unsigned char random[10];
	uint64_t ms = mr_clock_ns(MR_CLOCK_REAL) / 1000000;

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

/* BASE of BASE/NAME/leases. */
static const char *choose_base(char name[32])
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");

	snprintf(name, 32, "menace");
	if (geteuid() == 0)
		return "/run";
	if (xdg && xdg[0] == '/')
		return xdg;
	snprintf(name, 32, "menace-%u", geteuid());
	return "/tmp";
}

int mr_lease_folder(char *ret, size_t size)
{
	char name[32];
	const char *base = choose_base(name);

	return snprintf(ret, size, "%s/%s/leases", base, name) < (int)size ? 0 : -ENAMETOOLONG;
}

static int open_below(const char *base, const char *name, struct mr_error *err)
{
	mr_auto_close int base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mr_auto_close int own = -1;
	int fd;

	if (base_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", base);
	own = open_own_dir(base_fd, name, err);
	if (own < 0)
		return mr_err_wrap(err, own, "%s", base);
	fd = open_own_dir(own, "leases", err);
	return fd < 0 ? mr_err_wrap(err, fd, "%s/%s", base, name) : fd;
}

int mr_lease_open_dir(struct mr_error *err)
{
	char name[32];
	const char *base = choose_base(name);
	int fd = open_below(base, name, err);

	/* The variable is often of another session, or of another user. */
	return fd < 0 && base == getenv("XDG_RUNTIME_DIR")
		       ? mr_err_wrap(err, fd, "XDG_RUNTIME_DIR (unset it and /tmp is used)")
		       : fd;
}

/* Each excludes the other, and whoever looks can tell them apart. */
enum holder {
	SUPERVISOR = 0, /* the whole file, whatever its size */
	SWEEPER = TEXT_MAX, /* its text */
};

static int lock_ofd(int fd, enum holder holder)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = holder };

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

/* The whole text; its length, or negative errno. */
static int format_text(const struct mr_cgroup_host *host, const struct mr_lease_note *note,
		       char text[TEXT_MAX])
{
	int bases = mr_cgroup_host_bases(host, text, BASES_MAX), n;

	if (bases < 0)
		return bases;
	n = snprintf(text + bases, (size_t)(TEXT_MAX - bases), "\n%d %" PRIu64 "\n%.*s%c%.*s",
		     getpid(), note->begin_ns, MR_LEASE_NAME_MAX,
		     note->program ? note->program : "", '\0', MR_LEASE_NAME_MAX,
		     note->name ? note->name : "");
	return bases + n + 1;
}

int mr_lease_take(int dir_fd, const char *id, const struct mr_cgroup_host *host,
		  const struct mr_lease_note *note, struct mr_error *err)
{
	mr_auto_close int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[32], text[TEXT_MAX];
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make the lease of run %s: %m", id);
	r = lock_ofd(fd, SUPERVISOR);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "lock the lease of run %s: %m", id);
	r = format_text(host, note, text);
	if (r >= 0)
		r = mr_write_full(fd, text, (size_t)r);
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

/* Where the BASE directories end, with their last newline. */
static size_t bases_length(const char *text)
{
	const char *end = strstr(text, "\n\n");

	if (text[0] == '\n')
		return 0;
	return end ? (size_t)(end - text) + 1 : strlen(text);
}

void mr_lease_netd_name(const char *id, char ret[MR_LEASE_NETD_SIZE])
{
	snprintf(ret, MR_LEASE_NETD_SIZE, "%.*s%s", MR_RUN_ID_SIZE - 1, id, MR_LEASE_NETD_SUFFIX);
}

void mr_lease_spike_name(const char *id, char ret[MR_LEASE_SPIKE_SIZE])
{
	snprintf(ret, MR_LEASE_SPIKE_SIZE, "%.*s%s", MR_RUN_ID_SIZE - 1, id, MR_LEASE_SPIKE_SUFFIX);
}

void mr_lease_relay_name(const char *id, char ret[MR_LEASE_RELAY_SIZE])
{
	snprintf(ret, MR_LEASE_RELAY_SIZE, "%.*s%s", MR_RUN_ID_SIZE - 1, id, MR_LEASE_RELAY_SUFFIX);
}

/* The run's own group, and those beside it. */
static int sweep_named(struct mr_cgroup_host *host, const char *id, struct mr_error *err)
{
	static const char *const suffixes[] = { "", MR_LEASE_NETD_SUFFIX, MR_LEASE_SPIKE_SUFFIX,
						MR_LEASE_RELAY_SUFFIX };
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(suffixes); i++) {
		mr_auto_free char *name = mr_str_format("%s%s", id, suffixes[i]);

		r = mr_cgroup_sweep(host, name, MR_PATIENCE_MS(LEASE_SWEEP), err);
	}
	return r;
}

/* The groups named in an abandoned lease. */
static int sweep_groups(int lease_fd, const char *id, struct mr_error *err)
{
	struct mr_cgroup_host *host = NULL;
	char text[TEXT_MAX];
	ssize_t n = mr_read_full(lease_fd, text, sizeof(text) - 1);
	int r;

	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "read the lease of run %s: %m", id);
	text[n] = '\0';
	text[bases_length(text)] = '\0';
	r = mr_cgroup_host_at(text, &host, err);
	if (r == 0 && host)
		r = sweep_named(host, id, err);
	mr_cgroup_host_free(host);
	return r < 0 ? mr_err_wrap(err, r, "run %s", id) : 0;
}

/* Remove the files in a folder and, by inner(), the folders; NULL: there are none.  Then itself. */
static int remove_folder(int dir_fd, const char *name,
			 int (*inner)(int fd, const char *name, struct mr_error *err),
			 struct mr_error *err)
{
	mr_auto_closedir DIR *dir = NULL;
	struct dirent *entry;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		mr_err(err, MR_E_SYS, errno, "open %s: %m", name);
		mr_close(fd);
		return -EIO;
	}
	while (r == 0 && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (entry->d_type == DT_DIR && inner)
			r = inner(fd, entry->d_name, err);
		else if (unlinkat(fd, entry->d_name, 0) < 0 && errno != ENOENT)
			r = mr_err(err, MR_E_SYS, errno, "remove %s/%s: %m", name, entry->d_name);
	}
	if (r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		r = mr_err(err, MR_E_SYS, errno, "remove %s: %m", name);
	return r;
}

static int remove_flat_folder(int dir_fd, const char *name, struct mr_error *err)
{
	return remove_folder(dir_fd, name, NULL, err);
}

int mr_lease_remove_files(int dir_fd, const char *id, struct mr_error *err)
{
	mr_auto_free char *name = mr_str_format("../" MR_LEASE_FILES_PREFIX "%s", id);

	return remove_folder(dir_fd, name, remove_flat_folder, err);
}

struct abandoned {
	int dir_fd, fd; /* the folder of leases, this one */
	const char *id;
};

static int sweep_its_groups(const struct abandoned *a, struct mr_error *err)
{
	return sweep_groups(a->fd, a->id, err);
}

static int sweep_its_files(const struct abandoned *a, struct mr_error *err)
{
	return mr_lease_remove_files(a->dir_fd, a->id, err);
}

static int remove_lease(const struct abandoned *a, struct mr_error *err)
{
	if (unlinkat(a->dir_fd, a->id, 0) < 0 && errno != ENOENT)
		return mr_err(err, MR_E_SYS, errno, "remove the lease of run %s: %m", a->id);
	return 0;
}

static const struct sweep_step {
	const char *name;
	int (*run)(const struct abandoned *a, struct mr_error *err);
} sweeping[] = {
	{ "groups", sweep_its_groups },
	{ "files", sweep_its_files },
	{ "lease", remove_lease }, /* last: it says what is still to be swept */
};
MR_DIE_TABLE(sweep, sweeping[0], N_ELEMENTS(sweeping));

/* 1 swept, 0 in use, negative errno. */
static int sweep_one(int dir_fd, const char *id, struct mr_error *err)
{
	mr_auto_close int fd = openat(dir_fd, id, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	const struct abandoned abandoned = { .dir_fd = dir_fd, .fd = fd, .id = id };
	int r = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open the lease of run %s: %m", id);
	if (lock_ofd(fd, SWEEPER) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(sweeping); i++) {
		MR_DIE_AT(sweep, sweeping[i].name);
		r = sweeping[i].run(&abandoned, err);
	}
	return r < 0 ? r : 1;
}

static DIR *open_list(int dir_fd, struct mr_error *err)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		mr_err(err, MR_E_SYS, errno, "list the leases: %m");
		mr_close(fd);
	}
	return dir;
}

int mr_lease_sweep(int dir_fd, size_t *ret_failed, struct mr_error *err)
{
	mr_auto_closedir DIR *dir = open_list(dir_fd, err);
	struct dirent *entry;
	size_t failed = 0;
	int swept = 0;

	if (!dir)
		return -EIO;
	while ((entry = readdir(dir))) {
		int r;

		if (entry->d_name[0] == '.') {
			mr_follow_sweep(dir_fd, entry->d_name);
			continue;
		}
		r = sweep_one(dir_fd, entry->d_name, err);
		swept += r > 0;
		failed += r < 0;
	}
	*ret_failed = failed;
	return swept;
}

int mr_lease_sweep_at_start(int dir_fd, struct mr_error *err)
{
	size_t failed = 0;
	int r = mr_lease_sweep(dir_fd, &failed, err);

	if (r > 0)
		mr_log_info("removed what %d crashed runs had left", r);
	if (r >= 0 && failed)
		mr_log_warn("%zu crashed runs could not be removed yet: %s", failed, err->msg);
	return r < 0 ? r : 0;
}

/* --- looking at the leases of living runs ------------------------------------------------ */

/* By its supervisor: a run that is being swept is over. */
static bool is_held(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
	       lock.l_len == SUPERVISOR;
}

int mr_lease_count_dead(int dir_fd, struct mr_error *err)
{
	mr_auto_closedir DIR *dir = open_list(dir_fd, err);
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return -EIO;
	while ((entry = readdir(dir))) {
		mr_auto_close int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dir_fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		n += fd >= 0 && !is_held(fd);
	}
	return n;
}

/* "PID BEGIN" */
static bool parse_numbers(char *line, struct mr_lease_info *info)
{
	char *space = strchr(line, ' ');
	uint64_t pid;

	if (!space)
		return false;
	*space = '\0';
	if (mr_units_parse_count(line, &pid, NULL) < 0 || pid == 0 || pid > INT_MAX ||
	    mr_units_parse_count(space + 1, &info->begin_ns, NULL) < 0)
		return false;
	info->pid = (pid_t)pid;
	return true;
}

/* The text may be anything: of another version, or of a user who wrote it by hand. */
static bool parse_text(char *text, size_t size, struct mr_lease_info *info)
{
	size_t n = bases_length(text);
	char *line = text + n + 1, *end = n + 1 < size ? strchr(line, '\n') : NULL;
	char *program, *name;

	if (!end || text[n] != '\n')
		return false;
	*end = '\0';
	program = end + 1;
	if (!parse_numbers(line, info))
		return false;
	name = program + strlen(program) + 1;
	info->bases = mr_str_ndup(text, n);
	info->program = mr_str_dup(program);
	info->name = name < text + size && *name ? mr_str_dup(name) : NULL;
	return true;
}

int mr_lease_read(int dir_fd, const char *id, struct mr_lease_info *ret)
{
	mr_auto_close int fd = openat(dir_fd, id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct mr_lease_info info = { .pid = 0 };
	char text[TEXT_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || strspn(id, digits) != sizeof(info.id) - 1 ||
	    strlen(id) != sizeof(info.id) - 1 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !is_held(fd))
		return 1;
	n = mr_read_full(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 1;
	text[n] = '\0';
	snprintf(info.id, sizeof(info.id), "%s", id);
	info.uid = st.st_uid;
	if (!parse_text(text, (size_t)n, &info)) {
		mr_lease_info_deinit(&info);
		return 1;
	}
	*ret = info;
	return 0;
}

bool mr_lease_may_live(int dir_fd, const char *id)
{
	mr_auto_close int fd = openat(dir_fd, id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fd < 0)
		return errno != ENOENT;
	if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return true;
	return lock.l_type != F_UNLCK && lock.l_len == SUPERVISOR;
}

void mr_lease_info_deinit(struct mr_lease_info *info)
{
	free(info->bases);
	free(info->program);
	free(info->name);
	*info = (struct mr_lease_info){ .pid = 0 };
}
