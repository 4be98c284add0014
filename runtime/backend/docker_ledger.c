/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, ledger
 *
 * A record is one byte of state, then a document.  The state is changed by a write of that byte, so
 * it is never half of anything.  Files that others wait for are never renamed or removed: a
 * lock on a file that is no longer the one of that name protects nothing.
 */
#include "runtime/backend/docker_ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

#define RECORD_MAX 16384
#define COUNTERS ".counters"
#define COUNTERS_SIZE 4096
#define QUEUE ".queue"
#define ID_LETTERS "0123456789abcdefghijklmnopqrstuvwxyz"

int mr_docker_ledger_open(struct mr_error *err)
{
	mr_auto_close int leases = mr_lease_open_dir(err), fd = -1;
	struct stat st;

	if (leases < 0)
		return leases;
	if (mkdirat(leases, "../pool", 0700) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make the folder of the pool: %m");
	fd = openat(leases, "../pool", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "open the folder of the pool: %m");
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return mr_err(err, MR_E_DENIED, EPERM,
			      "the folder of the pool belongs to user %u with mode %04o; it must "
			      "be ours alone",
			      st.st_uid, st.st_mode & 07777);
	return mr_take_fd(fd);
}

static int lock(int fd, short type, off_t from, off_t n, bool wait)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = n };
	int r;

	do
		r = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &l);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/* --- records --------------------------------------------------------------------------------------- */

static int write_facts(const struct mr_docker_record *record, enum mr_docker_phase state,
		       struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(record->facts, JSON_COMPACT);
	const char byte = (char)state;
	size_t n;

	mr_assert(text);
	n = strlen(text);
	if (n > RECORD_MAX - 2)
		return mr_err(err, MR_E_SYS, EFBIG, "the record of container %s is too long",
			      record->id);
	/* What is read while this is written is of the old state. */
	if (pwrite(record->fd, text, n, 1) != (ssize_t)n ||
	    ftruncate(record->fd, (off_t)n + 1) < 0 || pwrite(record->fd, &byte, 1, 0) != 1)
		return mr_err(err, MR_E_SYS, errno ? errno : EIO,
			      "write the record of container %s: %m", record->id);
	return 0;
}

int mr_docker_record_begin(int dir_fd, json_t *facts, struct mr_docker_record *ret,
			   struct mr_error *err)
{
	struct mr_docker_record record = { .state = MR_DOCKER_MAKING, .facts = facts };
	char path[32];
	int r;

	mr_lease_new_id(record.id);
	record.fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	r = record.fd < 0 ? -errno : lock(record.fd, F_WRLCK, 0, 0, false);
	if (r < 0)
		mr_err(err, MR_E_SYS, -r, "make a record in the pool: %m");
	else
		r = write_facts(&record, MR_DOCKER_MAKING, err);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", record.fd);
	if (r == 0 && linkat(AT_FDCWD, path, dir_fd, record.id, AT_SYMLINK_FOLLOW) < 0)
		r = mr_err(err, MR_E_SYS, errno, "name a record in the pool: %m");
	if (r < 0) {
		mr_docker_record_release(&record);
		return r;
	}
	*ret = record;
	return 0;
}

static int read_record(int fd, struct mr_docker_record *record, struct mr_error *err)
{
	char text[RECORD_MAX];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	int r;

	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "read the record of container %s: %m",
			      record->id);
	if (n == 0 || !strchr("mru", text[0]))
		return mr_err(err, MR_E_PROTO, EPROTO, "the record of container %s is garbage",
			      record->id);
	record->state = (enum mr_docker_phase)text[0];
	r = mr_json_parse(text + 1, (size_t)n - 1, "record", &record->facts, err);
	return r < 0 ? mr_err_wrap(err, r, "container %s", record->id) : 0;
}

static bool is_id(const char *id)
{
	return strlen(id) == MR_RUN_ID_SIZE - 1 && id[strspn(id, ID_LETTERS)] == '\0';
}

static int open_record(int dir_fd, const char *id, struct mr_docker_record *record,
		       struct mr_error *err)
{
	struct stat st;

	*record = (struct mr_docker_record){ .fd = -1 };
	if (!is_id(id))
		return 2;
	memcpy(record->id, id, MR_RUN_ID_SIZE);
	record->fd = openat(dir_fd, id, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (record->fd < 0 && errno == ENOENT)
		return 2;
	if (record->fd < 0 || fstat(record->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return mr_err(err, MR_E_SYS, record->fd < 0 ? errno : EINVAL,
			      "open the record of container %s: %m", id);
	return 0;
}

/* One that says nothing sensible was not written by a living one of us: it is like one whose owner
 * died, of the container of that name. */
static void take_for_debris(struct mr_docker_record *record)
{
	json_decref(record->facts);
	record->facts = json_object();
	record->state = MR_DOCKER_USED;
}

int mr_docker_record_hold(int dir_fd, const char *id, struct mr_docker_record *ret,
			  struct mr_error *err)
{
	struct mr_docker_record record;
	struct mr_error ignored;
	struct stat st;
	int r = open_record(dir_fd, id, &record, err);

	if (r == 0 && lock(record.fd, F_WRLCK, 0, 0, false) < 0)
		r = 1;
	/* Dropped between opening and locking? */
	if (r == 0 && (fstat(record.fd, &st) < 0 || st.st_nlink == 0))
		r = 2;
	if (r == 0 && read_record(record.fd, &record, &ignored) < 0)
		take_for_debris(&record);
	if (r != 0) {
		mr_docker_record_release(&record);
		return r;
	}
	*ret = record;
	return 0;
}

int mr_docker_record_look(int dir_fd, const char *id, struct mr_docker_record *ret, bool *ret_held,
			  struct mr_error *err)
{
	struct mr_docker_record record;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct mr_error ignored;
	int r = open_record(dir_fd, id, &record, err);

	if (r == 0 && fcntl(record.fd, F_OFD_GETLK, &l) < 0)
		r = mr_err(err, MR_E_SYS, errno, "look at the record of container %s: %m", id);
	if (r == 0 && read_record(record.fd, &record, &ignored) < 0)
		take_for_debris(&record);
	record.fd = mr_close(record.fd);
	if (r != 0) {
		mr_docker_record_release(&record);
		return r;
	}
	*ret_held = l.l_type != F_UNLCK;
	*ret = record;
	return 0;
}

int mr_docker_record_ready(struct mr_docker_record *record, struct mr_error *err)
{
	int r = write_facts(record, MR_DOCKER_READY, err);

	if (r == 0)
		record->state = MR_DOCKER_READY;
	return r;
}

int mr_docker_record_use(struct mr_docker_record *record, struct mr_error *err)
{
	const char byte = MR_DOCKER_USED;

	if (pwrite(record->fd, &byte, 1, 0) != 1)
		return mr_err(err, MR_E_SYS, errno, "write the record of container %s: %m",
			      record->id);
	record->state = MR_DOCKER_USED;
	return 0;
}

void mr_docker_record_drop(int dir_fd, struct mr_docker_record *record)
{
	if (record->fd >= 0)
		unlinkat(dir_fd, record->id, 0);
	mr_docker_record_release(record);
}

void mr_docker_record_release(struct mr_docker_record *record)
{
	json_decref(record->facts);
	record->facts = NULL;
	record->fd = mr_close(record->fd);
}

void mr_docker_record_forget(int dir_fd, const char *id)
{
	if (is_id(id))
		unlinkat(dir_fd, id, 0);
}

uint64_t mr_docker_record_number(const struct mr_docker_record *record, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(record->facts, name));

	return n > 0 ? (uint64_t)n : 0;
}

const char *mr_docker_record_text(const struct mr_docker_record *record, const char *name)
{
	return mr_json_text_or_empty(record->facts, name);
}

int mr_docker_ledger_list(int dir_fd, char (**ret)[MR_RUN_ID_SIZE], size_t *ret_n,
			  struct mr_error *err)
{
	mr_auto_closedir DIR *dir = NULL;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char(*list)[MR_RUN_ID_SIZE] = NULL;
	struct dirent *entry;
	size_t n = 0, cap = 0;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		mr_close(fd);
		return mr_err(err, MR_E_SYS, errno, "list the pool: %m");
	}
	while ((entry = readdir(dir))) {
		if (!is_id(entry->d_name))
			continue;
		list = mr_str_grow(list, n, &cap, sizeof(*list));
		memcpy(list[n++], entry->d_name, MR_RUN_ID_SIZE);
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

/* --- counters -------------------------------------------------------------------------------------- */

int mr_docker_counters_open(int dir_fd, struct mr_docker_counters *ret, struct mr_error *err)
{
	mr_auto_close int fd =
		openat(dir_fd, COUNTERS, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct mr_error ignored;
	char text[COUNTERS_SIZE];
	json_t *values = NULL;
	ssize_t n;
	int r = fd < 0 ? -errno : lock(fd, F_WRLCK, 0, 0, true);

	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "open the counters of the pool: %m");
	n = pread(fd, text, sizeof(text), 0);
	/* A new file, or one that a crash of the machine tore. */
	if (n <= 0 || mr_json_parse(text, (size_t)n, "counters", &values, &ignored) < 0 ||
	    !json_is_object(values)) {
		json_decref(values);
		values = json_object();
	}
	*ret = (struct mr_docker_counters){ .fd = mr_take_fd(fd), .values = values };
	return 0;
}

void mr_docker_counters_add(struct mr_docker_counters *counters, const char *name, int64_t n)
{
	json_int_t before = json_integer_value(json_object_get(counters->values, name));

	if (n != 0)
		json_object_set_new(counters->values, name, json_integer(before + n));
}

/* Always of the same length, so that it is one write. */
int mr_docker_counters_close(struct mr_docker_counters *counters, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(counters->values, JSON_COMPACT);
	char padded[COUNTERS_SIZE];
	size_t n;
	int r = 0;

	mr_assert(text);
	n = strlen(text);
	memset(padded, ' ', sizeof(padded));
	if (n < sizeof(padded)) {
		memcpy(padded, text, n);
		if (pwrite(counters->fd, padded, sizeof(padded), 0) != (ssize_t)sizeof(padded))
			r = mr_err(err, MR_E_SYS, errno, "write the counters of the pool: %m");
	}
	json_decref(counters->values);
	counters->values = NULL;
	counters->fd = mr_close(counters->fd);
	return r;
}

int mr_docker_ledger_queue(int dir_fd, unsigned int place, bool wait, struct mr_error *err)
{
	mr_auto_close int fd =
		openat(dir_fd, QUEUE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : lock(fd, F_WRLCK, (off_t)place, 1, wait);

	if (r < 0)
		return mr_err(err, r == -EAGAIN || r == -EACCES ? MR_E_BUSY : MR_E_SYS, -r,
			      "wait for others who fill the pool: %m");
	return mr_take_fd(fd);
}
