/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living
 *
 * Folders are walked name by name without following links, because those of other
 * users are below places where they may put some; what their files say is text.
 */
#include "runtime/supervise/living.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"

#define RUNS_MAX 65536 /* in one folder */

struct list {
	struct mr_living *runs;
	size_t n, cap;
};

/* Descriptor of BASE/A/B..., each a folder and no link. */
static int open_folder(const char *path)
{
	mr_auto_free char *copy = mr_str_dup(path);
	char *save = NULL;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (char *name = strtok_r(copy, "/", &save); name && fd >= 0;
	     name = strtok_r(NULL, "/", &save)) {
		int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		mr_close(fd);
		fd = next;
	}
	return fd;
}

static void look_into(struct list *list, const char *folder)
{
	int fd = open_folder(folder);
	mr_auto_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct mr_living run;
	struct stat st;

	if (!dir) {
		mr_close(fd);
		return;
	}
	if (fstat(fd, &st) < 0 || (geteuid() != 0 && st.st_uid != geteuid()))
		return;
	while (list->n < RUNS_MAX && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || mr_lease_read(fd, entry->d_name, &run.info) != 0)
			continue;
		if (run.info.uid != st.st_uid) { /* he could not have made it */
			mr_lease_info_deinit(&run.info);
			continue;
		}
		run.folder = mr_str_dup(folder);
		list->runs = mr_str_grow(list->runs, list->n, &list->cap, sizeof(run));
		list->runs[list->n++] = run;
	}
}

/* PARENT/PREFIX.../REST for every name there is. */
static void look_below(struct list *list, const char *parent, const char *prefix, const char *rest)
{
	mr_auto_closedir DIR *dir = opendir(parent);
	struct dirent *entry;
	char folder[128];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    snprintf(folder, sizeof(folder), "%s/%s/%s", parent, entry->d_name, rest) >=
			    (int)sizeof(folder))
			continue;
		look_into(list, folder);
	}
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct mr_living *)a)->info.id,
		      ((const struct mr_living *)b)->info.id);
}

int mr_living_list(struct mr_living **ret, size_t *ret_n, struct mr_error *err)
{
	struct list list = { .runs = NULL };
	mr_auto_free char *folder = NULL;
	char path[PATH_MAX];

	if (mr_lease_folder(path, sizeof(path)) < 0)
		return mr_err(err, MR_E_USAGE, ENAMETOOLONG, "XDG_RUNTIME_DIR: %m");
	folder = realpath(path, NULL); /* what the caller's own environment says may hold links */
	if (folder)
		look_into(&list, folder);
	if (geteuid() == 0) {
		look_below(&list, "/run/user", "", "menace/leases");
		look_below(&list, "/tmp", "menace-", "leases");
	}
	if (list.n)
		qsort(list.runs, list.n, sizeof(*list.runs), by_id);
	*ret = list.runs;
	*ret_n = list.n;
	return 0;
}

struct mr_living *mr_living_free(struct mr_living *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		mr_lease_info_deinit(&list[i].info);
		free(list[i].folder);
	}
	free(list);
	return NULL;
}

/* --- asking -------------------------------------------------------------------------------- */

static bool is_over(int dir_fd, const char *id)
{
	struct mr_lease_info info;

	if (mr_lease_read(dir_fd, id, &info) != 0)
		return true;
	mr_lease_info_deinit(&info);
	return false;
}

/* The name belongs to the run's user, so that his supervisor may connect, and nothing in his folder is
 * touched with more than his rights. */
static int bind_as(int fd, const struct sockaddr_un *un, uid_t uid)
{
	int before = setfsuid(uid), r;

	r = bind(fd, (const struct sockaddr *)un, sizeof(*un));
	setfsuid((uid_t)before);
	return r;
}

static void unlink_as(int dir_fd, const char *name, uid_t uid)
{
	int before = setfsuid(uid);

	unlinkat(dir_fd, name, 0);
	setfsuid((uid_t)before);
}

static int listen_at(int dir_fd, const char *name, uid_t uid, struct mr_error *err)
{
	mr_auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "socket: %m");
	snprintf(un.sun_path, sizeof(un.sun_path), "/proc/self/fd/%d/%.75s", dir_fd, name);
	if (bind_as(fd, &un, uid) < 0 || listen(fd, 4) < 0)
		return mr_err(err, MR_E_SYS, errno, "make the socket %s: %m", name);
	return mr_take_fd(fd);
}

/* A signal that wants to end us is waiting. */
static bool is_ending(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP));
}

/* A connection, 1 when the run has ended, or negative errno. */
static int await(const struct mr_living *run, int dir_fd, int listener, int pidfd, int timeout_ms,
		 int *ret_fd, struct mr_error *err)
{
	const uint64_t step_ms = MR_PATIENCE_MS(LIVING_STEP);
	uint64_t remind_at_ms = 0;

	for (uint64_t waited_ms = 0; waited_ms < (uint64_t)timeout_ms; waited_ms += step_ms) {
		struct pollfd p = { .fd = listener, .events = POLLIN };
		const bool remind = waited_ms >= remind_at_ms;

		if (is_over(dir_fd, run->info.id))
			return 1;
		if (remind)
			remind_at_ms = waited_ms + MR_PATIENCE_MS(LIVING_REMIND);
		if (remind && mr_pidfd_send_signal(pidfd, SIGURG) < 0)
			return errno == ESRCH ? 1
					      : mr_err(err, MR_E_DENIED, errno,
						       "ask the supervisor of run %s (pid %d): %m",
						       run->info.id, run->info.pid);
		if (poll(&p, 1, step_ms) == 1) {
			*ret_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			return *ret_fd < 0 ? mr_err(err, MR_E_SYS, errno, "accept: %m") : 0;
		}
		if (is_ending())
			return mr_err(err, MR_E_SYS, EINTR, "follow run %s: %m", run->info.id);
	}
	return mr_err(err, MR_E_BUSY, ETIMEDOUT,
		      "the supervisor of run %s (pid %d) does not answer; is it stopped, or of "
		      "another version?",
		      run->info.id, run->info.pid);
}

static int ask(const struct mr_living *run, int dir_fd, int timeout_ms, int *ret_fd,
	       struct mr_error *err)
{
	/* Opened before the lease is looked at: while that is held the pid is his. */
	mr_auto_close int pidfd = mr_pidfd_open(run->info.pid, 0);
	mr_auto_close int listener = -1;
	char name[80];
	int r;

	if (pidfd < 0 || is_over(dir_fd, run->info.id))
		return 1;
	snprintf(name, sizeof(name), ".follow-%s-%d-%jx", run->info.id, getpid(),
		 (uintmax_t)mr_now_ns()); /* pids are used again */
	listener = listen_at(dir_fd, name, run->info.uid, err);
	if (listener < 0)
		return listener;
	r = await(run, dir_fd, listener, pidfd, timeout_ms, ret_fd, err);
	unlink_as(dir_fd, name, run->info.uid);
	return r;
}

int mr_living_follow(const struct mr_living *run, int timeout_ms, int *ret_fd, struct mr_error *err)
{
	mr_auto_close int dir_fd = open_folder(run->folder);
	sigset_t ending, before;
	int r;

	if (dir_fd < 0)
		return 1;
	/* Ended in between we would leave the socket's name. */
	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &ending, &before) < 0)
		return mr_err(err, MR_E_SYS, errno, "signals: %m");
	r = ask(run, dir_fd, timeout_ms, ret_fd, err);
	if (sigprocmask(SIG_SETMASK, &before, NULL) < 0)
		mr_assert(!"the mask before is valid");
	return r;
}
