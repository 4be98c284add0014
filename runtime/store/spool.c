/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spool
 *
 * Writers share a lock on the open file, so they never wait for each other: the
 * kernel makes appends atomic.  Who takes records in renames the file and then
 * asks for the lock alone, without waiting: once it has it, every writer is done
 * and every later one, which compares the file with its path under the lock, has
 * gone to a new file.  A writer that finds no way to the open file within a few
 * tries makes a sealed piece of its own.
 */
#include "runtime/store/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/str.h"
#include "runtime/store/place.h"

#define OPEN_FLAGS (O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
#define TRIES 4
#define OWN_TRIES 64 /* each is lost only to somebody who looks in that very moment */
#define ID_SIZE 17
#define HEADER_MAX 128

static void make_id(char id[ID_SIZE])
{
	uint64_t value = 0;

	/* Only has to be new in its folder: O_EXCL and the rename below see to that. */
	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
		value = (uint64_t)getpid() << 32 | mr_clock_ns(MR_CLOCK_REAL) / 1000000000;
	snprintf(id, ID_SIZE, "%016" PRIx64, value);
}

/* Is fd still what the path leads to? */
static bool is_current(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

/* Descriptor with the shared lock, or negative errno; -EAGAIN when it is being sealed. */
static int open_shared(const char *path)
{
	mr_auto_close int fd = open(path, OPEN_FLAGS, 0600);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return is_current(fd, path) ? mr_take_fd(fd) : -EAGAIN;
}

/* A piece that is ours alone from the start; -EAGAIN when somebody took it, empty, before we had
 * the lock. */
static int open_own_piece(const char *path, char **ret_path)
{
	mr_auto_free char *own = NULL;
	char id[ID_SIZE];
	mr_auto_close int fd = -1;

	make_id(id);
	own = mr_str_format("%s.%s", path, id);
	fd = open(own, OPEN_FLAGS | O_EXCL, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (!is_current(fd, own))
		return -EAGAIN;
	*ret_path = mr_take_ptr(own);
	return mr_take_fd(fd);
}

static int open_file(const char *path, char **ret_path)
{
	int fd = -EAGAIN;

	for (int i = 0; i < TRIES && fd == -EAGAIN; i++)
		fd = open_shared(path);
	if (fd >= 0)
		*ret_path = mr_str_dup(path);
	for (int i = 0; i < OWN_TRIES && fd == -EAGAIN; i++)
		fd = open_own_piece(path, ret_path);
	return fd;
}

static int check_room(int fd, const char *path, size_t bytes, struct mr_error *err)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs) < 0)
		return mr_err(err, MR_E_SYS, errno, "file system of %s: %m", path);
	if ((uint64_t)fs.f_bavail * fs.f_frsize < bytes + HEADER_MAX)
		return mr_err(err, MR_E_SYS, ENOSPC, "%s: %m (make room, or choose another store)",
			      path);
	return 0;
}

/* Open `path`, whose folder `make` makes or judges. */
static int open_at(const struct mr_place *place, const char *path, size_t bytes,
		   int (*make)(const struct mr_place *, struct mr_error *), struct mr_spool *spool,
		   struct mr_error *err)
{
	mr_auto_close int fd = -1;
	mr_auto_free char *opened = NULL;
	int r = make(place, err);

	if (r < 0)
		return r;
	fd = open_file(path, &opened);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, -fd, "open %s: %m", path);
	r = check_room(fd, path, bytes, err);
	if (r < 0)
		return r;
	mr_close(spool->fd);
	free(spool->path);
	spool->path = mr_take_ptr(opened);
	spool->fd = mr_take_fd(fd);
	return 0;
}

/* *err says why the store's folder will not do. */
static int flee(struct mr_spool *spool, size_t bytes, struct mr_error *err)
{
	struct mr_error second = MR_ERROR_INIT;
	int r = open_at(spool->place, spool->place->refuge, bytes, mr_place_make_refuge, spool,
			&second);

	if (r < 0)
		return mr_err_wrap(err, -err->errnum, "%.200s; before that", second.msg);
	spool->in_refuge = true;
	return 1;
}

static int refuse_record(size_t size, struct mr_error *err)
{
	return mr_err(err, MR_E_SYS, EFBIG,
		      "a record of %zu bytes is too large, or more than a line", size);
}

int mr_spool_open(struct mr_place *place, size_t bytes, struct mr_spool *ret, struct mr_error *err)
{
	struct mr_spool spool = { .fd = -1, .place = place };
	int r;

	if (bytes > MR_SPOOL_RECORD_MAX)
		return refuse_record(bytes, err);
	r = open_at(place, place->spool, bytes, mr_place_prepare, &spool, err);
	if (r < 0)
		r = flee(&spool, bytes, err);
	if (r >= 0)
		*ret = spool;
	return r;
}

static int write_frame(const struct mr_spool *spool, const char *payload, size_t size,
		       struct mr_error *err)
{
	char header[HEADER_MAX];
	char hex[MR_HASH_HEX_SIZE];
	struct iovec parts[3];
	ssize_t wanted, n;

	mr_hash_hex(payload, size, hex);
	snprintf(header, sizeof(header), "\nmr1 %zu %s ", size, hex);
	parts[0] = (struct iovec){ header, strlen(header) };
	parts[1] = (struct iovec){ (void *)(uintptr_t)payload, size };
	parts[2] = (struct iovec){ (void *)(uintptr_t) "\n", 1 };
	wanted = (ssize_t)(parts[0].iov_len + size + 1);
	n = writev(spool->fd, parts, 3);
	if (n == wanted)
		return 0;
	if (n < 0)
		return mr_err(err, MR_E_SYS, errno,
			      "write record to %s: %m (make room, or choose another store)",
			      spool->path);
	/* Torn, and found as such: the next frame begins on a new line. */
	return mr_err(err, MR_E_SYS, ENOSPC,
		      "write record to %s: it took %zd of %zd bytes, for it has no room or may not "
		      "grow (ulimit -f): see to that, or choose another store",
		      spool->path, n, wanted);
}

int mr_spool_append(struct mr_spool *spool, const char *payload, size_t size, struct mr_error *err)
{
	struct mr_error second = MR_ERROR_INIT;
	int r;

	if (size > MR_SPOOL_RECORD_MAX || memchr(payload, '\n', size))
		return refuse_record(size, err);
	r = write_frame(spool, payload, size, err);
	if (r >= 0 || spool->in_refuge)
		return r;
	r = flee(spool, size, err);
	if (r < 0)
		return r;
	r = write_frame(spool, payload, size, &second);
	if (r < 0)
		return mr_err_wrap(err, r, "%.200s; before that", second.msg);
	return 1;
}

void mr_spool_close(struct mr_spool *spool)
{
	spool->fd = mr_close(spool->fd);
	mr_freep(&spool->path);
	spool->path = NULL;
}

/* --- reading --------------------------------------------------------------- */

static const char *judge_frame(const char *line, size_t size, struct mr_spool_piece *ret)
{
	size_t at = 4;
	size_t length = 0;
	char hex[MR_HASH_HEX_SIZE];

	if (size < 4 || memcmp(line, "mr1 ", 4) != 0)
		return "does not begin as a record";
	for (; at < size && line[at] >= '0' && line[at] <= '9'; at++) {
		length = length * 10 + (size_t)(line[at] - '0');
		if (length > MR_SPOOL_RECORD_MAX)
			return "says it is larger than a record can be";
	}
	if (at == 4 || size - at < 66 || line[at] != ' ' || line[at + 65] != ' ')
		return "is cut off or has a damaged head";
	if (size - at - 66 != length)
		return "is not as long as it says";
	mr_hash_hex(line + at + 66, length, hex);
	if (memcmp(hex, line + at + 1, 64) != 0)
		return "does not have the hash it says";
	ret->text = line + at + 66;
	ret->size = length;
	return NULL;
}

bool mr_spool_next(const char *buf, size_t size, size_t *at, struct mr_spool_piece *ret)
{
	while (*at < size && buf[*at] == '\n')
		(*at)++;
	if (*at == size)
		return false;

	const char *line = buf + *at;
	const char *end = memchr(line, '\n', size - *at);
	size_t length = end ? (size_t)(end - line) : size - *at;

	*ret = (struct mr_spool_piece){ .text = line, .size = length };
	ret->why = judge_frame(line, length, ret);
	*at += length;
	return true;
}

/* --- sealing --------------------------------------------------------------- */

struct paths {
	char **v;
	size_t n;
};

static void add_path(struct paths *paths, char *path)
{
	paths->v = realloc(paths->v, (paths->n + 2) * sizeof(*paths->v));
	mr_assert(paths->v);
	paths->v[paths->n++] = path;
	paths->v[paths->n] = NULL;
}

/* The last writer of a renamed file may still hold it.  What cannot be opened nobody is waited for:
 * who takes it in says why. */
static bool is_quiet(const char *path)
{
	mr_auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static int seal_open_file(const char *path, struct mr_error *err)
{
	mr_auto_free char *sealed = NULL;
	char id[ID_SIZE];

	make_id(id);
	sealed = mr_str_format("%s.%s", path, id);
	if (rename(path, sealed) < 0 && errno != ENOENT && errno != ENOTDIR)
		return mr_err(err, MR_E_SYS, errno, "seal %s: %m", path);
	return 0;
}

static bool is_sealed_name(const char *name, const char *base)
{
	size_t n = strlen(base);

	return strncmp(name, base, n) == 0 && name[n] == '.' &&
	       strspn(name + n + 1, "0123456789abcdef") == ID_SIZE - 1 &&
	       strlen(name + n + 1) == ID_SIZE - 1;
}

static void list_sealed(const char *path, struct paths *paths, size_t *ret_busy)
{
	const char *slash = strrchr(path, '/');
	mr_auto_free char *folder = mr_str_ndup(path, (size_t)(slash - path));
	mr_auto_closedir DIR *dir = opendir(folder[0] ? folder : "/");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *sealed;

		if (!is_sealed_name(entry->d_name, slash + 1))
			continue;
		sealed = mr_str_format("%s/%s", folder, entry->d_name);
		if (is_quiet(sealed)) {
			add_path(paths, sealed);
		} else {
			(*ret_busy)++;
			free(sealed);
		}
	}
}

int mr_spool_seal(const struct mr_place *place, char ***ret_paths, size_t *ret_busy,
		  struct mr_error *err)
{
	const char *const files[] = { place->spool, place->refuge, place->old_refuge };
	struct paths paths = { 0 };

	*ret_busy = 0;
	for (size_t i = 0; i < N_ELEMENTS(files) && files[i]; i++) {
		int r = seal_open_file(files[i], err);

		if (r < 0) {
			mr_spool_free_paths(paths.v);
			return r;
		}
		list_sealed(files[i], &paths, ret_busy);
	}
	*ret_paths = paths.v;
	return 0;
}

bool mr_spool_waits(const struct mr_place *place)
{
	const char *const files[] = { place->spool, place->refuge, place->old_refuge };
	struct paths paths = { 0 };
	size_t busy = 0;
	bool waits = false;

	for (size_t i = 0; i < N_ELEMENTS(files) && files[i]; i++) {
		waits = waits || access(files[i], F_OK) == 0;
		list_sealed(files[i], &paths, &busy);
	}
	waits = waits || paths.n > 0 || busy > 0;
	mr_spool_free_paths(paths.v);
	return waits;
}

void mr_spool_free_paths(char **paths)
{
	for (size_t i = 0; paths && paths[i]; i++)
		free(paths[i]);
	free(paths);
}
