/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure modes disk and disk_corruption
 *
 * Both see calls as seccomp hands them over, before the kernel makes them.
 *
 * disk: a call on a regular file is an occasion.  It waits here, or is answered with an errno, or
 * goes on.  To let it go on (SECCOMP_USER_NOTIF_FLAG_CONTINUE) is safe although the payload may
 * change meanwhile what its descriptor is: the filter allows the call whatever its arguments, and
 * nothing that we looked at grants anything.  All that such a race can win is a failure on another
 * file of its own.
 *
 * disk_corruption: a call that writes to a regular file in one of the sandbox's own places is an
 * occasion.  It goes on, and at the next call of the same task, which cannot come before the write
 * is over, a bit of what was written is flipped, by a descriptor of our own to the same file.  The
 * file is judged by that descriptor, so nothing can be put in its place.  Only bytes that are there
 * are changed, so that no memory is used that the payload would have to be charged for.  A write
 * that wrote nothing, or something else than a file's bytes, is no occasion.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/supervise/notify_paths.h"
#include "runtime/supervise/state.h"

#define WAITING_MAX 1024 /* calls that wait at once; one more goes on unhurt, and is no occasion */
#define PENDING_MAX 64 /* writes whose writer has not come back yet; two descriptors each */
#define PLACES_MAX 66 /* the sandbox's own file systems */
#define TOLD_MAX 64 /* flips told one by one */

/* --- both: which file a call is about ---------------------------------------------------------- */

static int file_of(const struct mr_notify *notify, const struct mr_seccomp_write *write)
{
	return (int)notify->req->data.args[write->fd];
}

/* The caller's process: descriptors are a process's, and a thread has no pidfd before Linux 6.9. */
static pid_t process_of(const struct mr_notify *notify)
{
	char path[40], text[512];
	const char *line;
	int pid;

	snprintf(path, sizeof(path), "/proc/%u/status", notify->req->pid);
	if (mr_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	line = strstr(text, "\nTgid:");
	return line && sscanf(line, "\nTgid: %d", &pid) == 1 ? pid : -1;
}

/* A copy of the caller's descriptor, or -1. */
static int copy_of(const struct mr_notify *notify, int fd)
{
	const pid_t pid = process_of(notify);
	mr_auto_close int pidfd = pid < 0 ? -1 : mr_pidfd_open(pid, 0);
	mr_auto_close int copy = -1;

	if (pidfd < 0)
		return -1;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	return copy >= 0 && mr_notify_is_valid(notify) ? mr_take_fd(copy) : -1;
}

/* --- disk ---------------------------------------------------------------------------------------- */

struct waiting {
	uint64_t id, due_ns;
};

struct disk {
	struct mr_run *run;
	struct mr_failure *failure;
	struct mr_source timer;
	struct waiting waiting[WAITING_MAX]; /* all wait as long: the oldest first */
	size_t n;
	uint64_t delayed, enospc, eio, unseen;
};

static void arm(struct disk *disk)
{
	struct mr_error err;

	/* Failing would need a bad descriptor of our own. */
	mr_assert(mr_timer_arm(disk->timer.fd, disk->n ? disk->waiting[0].due_ns : 0, &err) == 0);
}

static void on_due(struct mr_source *source, uint32_t events)
{
	struct disk *disk = source->owner;
	const uint64_t now = mr_now_ns();
	size_t over = 0;

	(void)events;
	mr_timer_ack(source->fd);
	while (over < disk->n && disk->waiting[over].due_ns <= now)
		mr_notify_release(&disk->run->notify, disk->waiting[over++].id);
	disk->n -= over;
	memmove(disk->waiting, disk->waiting + over, disk->n * sizeof(*disk->waiting));
	arm(disk);
}

/* Of the call itself, which is what waits; a descriptor that is none is the kernel's to refuse. */
static bool is_on_regular_file(const struct mr_notify *notify, int fd)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", notify->req->pid, fd);
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* True: it waits. */
static bool fail_call(struct disk *disk, struct mr_notify *notify)
{
	const uint64_t delay_ns = disk->run->spec->failure_disk_delay_ms * 1000000;

	switch (mr_rand_below(&disk->failure->rand, 4)) {
	case 0:
		disk->enospc++;
		mr_notify_refuse(notify, ENOSPC);
		return false;
	case 1:
		disk->eio++;
		mr_notify_refuse(notify, EIO);
		return false;
	default:
		break;
	}
	disk->delayed++;
	disk->failure->amount += delay_ns;
	disk->waiting[disk->n++] = (struct waiting){ notify->req->id, mr_now_ns() + delay_ns };
	arm(disk);
	return true;
}

static bool judge_write(struct disk *disk, struct mr_notify *notify)
{
	const struct mr_seccomp_write *write = mr_seccomp_write(notify->req->data.nr);

	if (!write || !is_on_regular_file(notify, file_of(notify, write)))
		return false;
	if (disk->n == WAITING_MAX) {
		disk->unseen++;
		return false;
	}
	return mr_failure_fires(disk->run, disk->failure) && fail_call(disk, notify);
}

static bool judge_pass(void *owner, struct mr_notify *notify);

static int start_disk(struct mr_run *run, struct mr_failure *f, struct mr_error *err)
{
	struct disk *disk = mr_str_alloc(sizeof(*disk));
	int timer, r;

	f->state = disk;
	*disk = (struct disk){ .run = run, .failure = f, .timer.fd = -1 };
	if (!run->notify.loop)
		return mr_err(err, MR_E_KERNEL, EBUSY,
			      "another seccomp listener is above us (a container's?)");
	timer = mr_timer_open(err);
	if (timer < 0)
		return timer;
	r = mr_loop_add(run->host->loop, &disk->timer, timer, EPOLLIN, on_due, disk, err);
	if (r < 0) {
		mr_close(timer);
		return r;
	}
	mr_notify_watch(&run->notify, judge_pass, run);
	return 0;
}

static void stop_disk(struct mr_run *run, struct mr_failure *f)
{
	struct disk *disk = f->state;
	const int timer = disk->timer.fd;

	if (timer < 0)
		return;
	mr_loop_remove(run->host->loop, &disk->timer);
	mr_close(timer);
	disk->n = 0; /* whoever waits is killed now */
	mr_notify_watch(&run->notify, NULL, NULL);
}

static void tell_disk(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct disk *disk = f->state;

	(void)run;
	json_object_set_new(object, "delayed", json_integer((json_int_t)disk->delayed));
	json_object_set_new(object, "ENOSPC", json_integer((json_int_t)disk->enospc));
	json_object_set_new(object, "EIO", json_integer((json_int_t)disk->eio));
	json_object_set_new(object, "unjudged", json_integer((json_int_t)disk->unseen));
}

static void free_disk(struct mr_run *run, struct mr_failure *f)
{
	stop_disk(run, f);
	free(f->state);
}

const struct mr_injector mr_inject_disk = {
	.mode = MR_FAILURE_disk,
	.unit = "ns",
	.start = start_disk,
	.stop = stop_disk,
	.tell = tell_disk,
	.free = free_disk,
};

/* --- disk_corruption ----------------------------------------------------------------------------- */

struct pending {
	pid_t task; /* 0: none */
	int fd; /* ours, to read and write */
	int position_fd; /* a copy of the writer's: where it is afterwards; -1: the size is known */
	off_t from;
	uint64_t size;
};

struct corruption {
	struct mr_run *run;
	struct mr_failure *failure;
	dev_t places[PLACES_MAX];
	size_t n_places;
	uint64_t work_mount; /* of the workspace's overlay; 0: there is none */
	struct pending pending[PENDING_MAX];
	uint64_t unseen;
	json_t *told;
};

/* 0: cannot be told. */
static uint64_t mount_of(int fd)
{
	struct statx stx = { 0 };

	return fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) == 0 &&
			       (stx.stx_mask & STATX_MNT_ID)
		       ? stx.stx_mnt_id
		       : 0;
}

/* The files of an overlay have the numbers of devices that nobody else knows, but one mount. */
static bool is_own_place(const struct corruption *c, int fd, const struct stat *st)
{
	for (size_t i = 0; i < c->n_places; i++)
		if (c->places[i] == st->st_dev)
			return true;
	return c->work_mount && mount_of(fd) == c->work_mount;
}

static void add_place(struct corruption *c, int fd)
{
	struct stat st;

	if (fd >= 0 && c->n_places < PLACES_MAX && fstat(fd, &st) == 0)
		c->places[c->n_places++] = st.st_dev;
}

static void find_places(struct corruption *c)
{
	const struct mr_run *run = c->run;
	mr_auto_close int work = -1;

	add_place(c, run->pool_fd);
	for (size_t i = 0; i < run->n_tmpfs; i++)
		add_place(c, run->tmpfs_fds[i]);
	if (run->spec->sandbox_workspace[0] == '\0')
		return;
	work = openat(run->root_fd, "work", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	c->work_mount = mount_of(work);
}

static void drop_pending(struct pending *p)
{
	p->fd = mr_close(p->fd);
	p->position_fd = mr_close(p->position_fd);
	p->task = 0;
}

/* The same file, open to read and write whatever the writer's is. */
static int reopen(const struct corruption *c, int fd)
{
	char path[40];
	struct stat st;

	/* What the writer may not write to, nobody writes to for him. */
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_own_place(c, fd, &st))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static struct pending *find_pending(struct corruption *c, pid_t task)
{
	for (size_t i = 0; i < PENDING_MAX; i++)
		if (c->pending[i].task == task)
			return &c->pending[i];
	return NULL;
}

/* Remember a write that is about to be made. */
static void await_write(struct corruption *c, struct mr_notify *notify,
			const struct mr_seccomp_write *write)
{
	struct pending *p = find_pending(c, 0);
	mr_auto_close int copy = copy_of(notify, file_of(notify, write));
	const int fd = copy < 0 ? -1 : reopen(c, copy);
	const bool is_at =
		write->offset >= 0 && (int64_t)notify->req->data.args[write->offset] >= 0;
	struct stat st;

	if (fd < 0)
		return;
	if (!p) {
		c->unseen++;
		mr_close(fd);
		return;
	}
	*p = (struct pending){ .task = (pid_t)notify->req->pid, .fd = fd, .position_fd = -1 };
	if (is_at) {
		p->from = (off_t)notify->req->data.args[write->offset];
		p->size = write->size >= 0 ? notify->req->data.args[write->size] : UINT64_MAX;
		return;
	}
	p->from = lseek(copy, 0, SEEK_CUR);
	if ((fcntl(copy, F_GETFL) & O_APPEND) && fstat(copy, &st) == 0)
		p->from = st.st_size;
	p->position_fd = mr_take_fd(copy);
}

/* How many bytes were written. */
static uint64_t written(const struct pending *p)
{
	const off_t at = p->position_fd < 0 ? 0 : lseek(p->position_fd, 0, SEEK_CUR);
	uint64_t size = p->position_fd < 0 ? p->size : at > p->from ? (uint64_t)(at - p->from) : 0;
	struct stat st;

	if (fstat(p->fd, &st) < 0 || st.st_size <= p->from)
		return 0;
	return size < (uint64_t)(st.st_size - p->from) ? size : (uint64_t)(st.st_size - p->from);
}

static void tell_flip(struct corruption *c, const struct pending *p, off_t at, unsigned int bit)
{
	char link[40], path[512];
	ssize_t n;

	if (json_array_size(c->told) >= TOLD_MAX)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", p->fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	json_array_append_new(c->told,
			      json_pack("{s:o, s:I, s:i}", "file",
					mr_str_utf8_valid(path, strlen(path)) ? json_string(path)
									      : json_null(),
					"offset", (json_int_t)at, "bit", (int)bit));
}

/* The write is over. */
static void corrupt(struct corruption *c, struct pending *p)
{
	struct mr_failure *f = c->failure;
	const uint64_t size = written(p);
	unsigned char byte;
	unsigned int bit;
	off_t at;

	if (size > 0 && mr_failure_fires(c->run, f)) {
		at = p->from + (off_t)mr_rand_below(&f->rand, size);
		bit = (unsigned int)mr_rand_below(&f->rand, 8);
		if (pread(p->fd, &byte, 1, at) == 1) {
			byte ^= (unsigned char)(1U << bit);
			if (pwrite(p->fd, &byte, 1, at) == 1) {
				f->amount++;
				tell_flip(c, p, at, bit);
			} else {
				f->fired--;
			}
		} else { /* truncated meanwhile */
			f->fired--;
		}
	}
	drop_pending(p);
}

static bool judge_pass(void *owner, struct mr_notify *notify)
{
	struct mr_run *run = owner;
	const struct mr_seccomp_write *write = mr_seccomp_write(notify->req->data.nr);
	struct mr_failure *disk = mr_failures_find(run, MR_FAILURE_disk);
	struct mr_failure *corruption = mr_failures_find(run, MR_FAILURE_disk_corruption);
	struct corruption *c = corruption && corruption->started ? corruption->state : NULL;
	struct pending *p = c ? find_pending(c, (pid_t)notify->req->pid) : NULL;
	bool waits = false;

	if (p)
		corrupt(c, p);
	if (disk && disk->started)
		waits = judge_write(disk->state, notify);
	if (c && write && notify->resp->error == 0) /* what was refused is not written */
		await_write(c, notify, write);
	return waits;
}

static int start_corruption(struct mr_run *run, struct mr_failure *f, struct mr_error *err)
{
	struct corruption *c = mr_str_alloc(sizeof(*c));

	f->state = c;
	c->run = run;
	c->failure = f;
	c->told = json_array();
	for (size_t i = 0; i < PENDING_MAX; i++)
		c->pending[i].fd = c->pending[i].position_fd = -1;
	if (!run->notify.loop)
		return mr_err(err, MR_E_KERNEL, EBUSY,
			      "another seccomp listener is above us (a container's?)");
	find_places(c);
	mr_notify_watch(&run->notify, judge_pass, run);
	return 0;
}

/* All writers are gone: what they wrote last is corrupted as the rest was. */
static void count_corruption(struct mr_run *run, struct mr_failure *f)
{
	struct corruption *c = f->state;

	(void)run;
	for (size_t i = 0; i < PENDING_MAX; i++)
		if (c->pending[i].task)
			corrupt(c, &c->pending[i]);
}

static void tell_corruption(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct corruption *c = f->state;

	(void)run;
	json_object_set(object, "flips", c->told);
	json_object_set_new(object, "unjudged", json_integer((json_int_t)c->unseen));
}

static void free_corruption(struct mr_run *run, struct mr_failure *f)
{
	struct corruption *c = f->state;

	(void)run;
	for (size_t i = 0; i < PENDING_MAX; i++)
		if (c->pending[i].task)
			drop_pending(&c->pending[i]);
	json_decref(c->told);
	free(c);
}

const struct mr_injector mr_inject_disk_corruption = {
	.mode = MR_FAILURE_disk_corruption,
	.unit = "bytes",
	.start = start_corruption,
	.count = count_corruption,
	.tell = tell_corruption,
	.free = free_corruption,
};
