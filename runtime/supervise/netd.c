/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netd
 *
 * The writing half of the channel is shut to say that the run is over; what the other side still
 * says is read to its end of file, so that no record is lost.
 */
#include "runtime/supervise/netd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/patience.h"
#include "runtime/base/sibling.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"

#define LATE_MAX 4096 /* messages after that: many more than a socket holds, and no flood */
#define ABOVE_ALL 64 /* numbers that no descriptor of the new process is given */
#define BATCH_MAX 64 /* messages in one turn of the loop: a flood must not starve a deadline */
#define GIVEN_MAX (2 + MR_DOORS + MR_NETD_MORE_MAX)

/* --- start ---------------------------------------------------------------------------- */

static int make_config(const struct mr_netd_opts *opts, struct mr_error *err)
{
	mr_auto_close int fd = memfd_create("menace-netd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "configuration of " MR_NETD_PROGRAM ": %m");
	r = mr_write_full(fd, opts->config, opts->config_size);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "configuration of " MR_NETD_PROGRAM ": %m");
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return mr_err(err, MR_E_SYS, errno, "seal the configuration: %m");
	return mr_take_fd(fd);
}

/* Copies above every number that they are to have in the new process, so that none is in another's
 * way. */
static int lift(const int given[GIVEN_MAX], size_t n, int lifted[GIVEN_MAX], struct mr_error *err)
{
	for (size_t i = 0; i < n; i++) {
		lifted[i] = fcntl(given[i], F_DUPFD_CLOEXEC, ABOVE_ALL);
		if (lifted[i] < 0)
			return mr_err(err, MR_E_SYS, errno,
				      "descriptor for " MR_NETD_PROGRAM ": %m");
	}
	return 0;
}

static int set_actions(posix_spawn_file_actions_t *actions, const int lifted[GIVEN_MAX], size_t n)
{
	int r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);

	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, 0, 1);
	for (int i = 0; r == 0 && i < (int)n; i++)
		r = posix_spawn_file_actions_adddup2(actions, lifted[i], MR_NETD_FD_CONFIG + i);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(actions, MR_NETD_FD_CONFIG + (int)n);
	return r;
}

static int spawn(const char *mode, const int lifted[GIVEN_MAX], size_t n, pid_t *ret_pid,
		 struct mr_error *err)
{
	char path[MR_SIBLING_MAX];
	char *argv[] = { (char[]){ MR_NETD_PROGRAM }, (char *)(uintptr_t)mode, NULL };
	char *envp[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int r = mr_sibling_find(MR_NETD_PROGRAM, path, err);

	if (r < 0)
		return r;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	/* A group of its own: an interrupt from a terminal is for us, who end it in order. */
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	r = set_actions(&actions, lifted, n);
	if (r == 0)
		r = posix_spawn(ret_pid, path, &actions, &attr, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return r ? mr_err(err, MR_E_SYS, r, "start %s: %m", path) : 0;
}

static void on_channel(struct mr_source *source, uint32_t events);
static void on_process(struct mr_source *source, uint32_t events);

static int start(struct mr_netd_run *netd, const struct mr_netd_opts *opts, struct mr_error *err)
{
	int given[GIVEN_MAX], lifted[GIVEN_MAX], pair[2], pidfd, r;
	const size_t n = 2 + opts->n_doors + opts->n_more;
	mr_auto_close int config = make_config(opts, err);
	mr_auto_close int theirs = -1;

	if (config < 0)
		return config;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return mr_err(err, MR_E_SYS, errno,
			      "make the channel to " MR_NETD_PROGRAM ": socketpair: %m");
	theirs = pair[1];
	/* It may wait for us, but we never for it: both waiting would be for ever. */
	if (fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0) {
		mr_close(pair[0]);
		return mr_err(err, MR_E_SYS, errno, "channel to " MR_NETD_PROGRAM ": %m");
	}
	given[0] = config;
	given[1] = theirs;
	mr_assert(n <= GIVEN_MAX);
	memcpy(&given[2], opts->doors, opts->n_doors * sizeof(int));
	if (opts->n_more)
		memcpy(&given[2 + opts->n_doors], opts->more, opts->n_more * sizeof(int));
	memset(lifted, 0xff, sizeof(lifted));
	r = lift(given, n, lifted, err);
	if (r == 0)
		r = spawn(opts->mode, lifted, n, &netd->pid, err);
	for (size_t i = 0; i < n; i++)
		mr_close(lifted[i]);
	if (r == 0)
		r = mr_loop_add(netd->loop, &netd->channel, pair[0], EPOLLIN, on_channel, netd,
				err);
	if (r < 0) {
		mr_close(pair[0]);
		return r;
	}
	pidfd = mr_pidfd_open(netd->pid, 0);
	if (pidfd < 0)
		return mr_err(err, MR_E_SYS, errno, "watch " MR_NETD_PROGRAM ": %m");
	r = mr_loop_add(netd->loop, &netd->process, pidfd, EPOLLIN, on_process, netd, err);
	if (r < 0)
		mr_close(pidfd);
	return r;
}

int mr_netd_start(struct mr_netd_run *netd, struct mr_loop *loop, const struct mr_netd_opts *opts,
		  struct mr_error *err)
{
	int r;

	*netd = (struct mr_netd_run)MR_NETD_RUN_INIT;
	netd->loop = loop;
	netd->opts = *opts;
	r = start(netd, opts, err);
	netd->opts.mode = netd->opts.config = NULL; /* were borrowed */
	netd->opts.doors = netd->opts.more = NULL;
	if (r < 0)
		mr_netd_stop(netd);
	return r;
}

/* --- messages ------------------------------------------------------------------------- */

static void lose(struct mr_netd_run *netd, const struct mr_error *err)
{
	if (netd->lost)
		return;
	netd->lost = true;
	if (netd->opts.on_lost)
		netd->opts.on_lost(netd->opts.owner, err);
}

static int take_failed(const void *message, size_t size, struct mr_error *err)
{
	struct mr_netd_failed failed;

	if (size != sizeof(failed))
		return mr_err(err, MR_E_PROTO, EPROTO, MR_NETD_PROGRAM " failed");
	memcpy(&failed, message, sizeof(failed));
	failed.error.msg[sizeof(failed.error.msg) - 1] = '\0';
	if (failed.error.code <= MR_E_NONE || failed.error.code >= MR_E_COUNT_)
		failed.error.code = MR_E_PROTO;
	*err = failed.error;
	return failed.error.errnum > 0 ? -failed.error.errnum : -EINVAL;
}

/* In their order, each once. */
static void take_met(struct mr_netd_run *netd, const void *message)
{
	struct mr_netd_met met;

	memcpy(&met, message, sizeof(met));
	if (met.first != netd->n_windows || met.n > MR_NETD_MET_MAX ||
	    met.n > MR_DROP_WINDOWS - met.first)
		return;
	memcpy(&netd->windows[met.first], met.windows, met.n * sizeof(*met.windows));
	netd->n_windows += met.n;
}

/* One message.  1: come again, 0: end of file, -EAGAIN: none, or another error. */
static int take_message(struct mr_netd_run *netd, int flags, struct mr_error *err)
{
	union {
		struct mr_netd_head head;
		char bytes[MR_NETD_MESSAGE_MAX];
	} message;
	int fds[MR_MSG_MAX_FDS];
	size_t n_fds = 0;
	ssize_t n =
		mr_recv_msg(netd->channel.fd, &message, sizeof(message), flags, fds, &n_fds, NULL);

	while (n_fds > 0)
		mr_close(fds[--n_fds]);
	if (n == 0)
		return 0;
	/* It left something of ours unread.  That is told once, and before what it said. */
	if (n == -ECONNRESET)
		return 1;
	if (n == -EAGAIN)
		return -EAGAIN;
	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "receive from " MR_NETD_PROGRAM ": %m");
	if ((size_t)n < sizeof(message.head) || message.head.size != (size_t)n)
		return mr_err(err, MR_E_PROTO, EPROTO, "message of %zd bytes from " MR_NETD_PROGRAM,
			      n);
	if (message.head.type == MR_NETD_FAILED)
		return take_failed(&message, (size_t)n, err);
	if (message.head.type == MR_NETD_READY && n == sizeof(struct mr_netd_ready)) {
		netd->ready = true;
		memcpy(&netd->landlock_abi,
		       message.bytes + offsetof(struct mr_netd_ready, landlock_abi),
		       sizeof(netd->landlock_abi));
	} else if (message.head.type == MR_NETD_MET && n == sizeof(struct mr_netd_met)) {
		take_met(netd, &message);
	} else if (message.head.type >= MR_NETD_MODE_FIRST) {
		netd->opts.on_message(netd->opts.owner, &message.head);
	}
	return 1;
}

static void on_channel(struct mr_source *source, uint32_t events)
{
	struct mr_netd_run *netd = source->owner;
	struct mr_error err = MR_ERROR_INIT;
	int r = 1, fd = source->fd;

	(void)events;
	netd->rests = false;
	for (int i = 0; r == 1 && i < BATCH_MAX && source->fd >= 0 && !netd->rests; i++)
		r = take_message(netd, MSG_DONTWAIT, &err);
	if (r == 1 || r == -EAGAIN || source->fd < 0)
		return;
	/* At end of file its process is ending: how is told by that. */
	mr_loop_remove(netd->loop, source);
	mr_close(fd);
	if (r < 0)
		lose(netd, &err);
}

static void drop(struct mr_netd_run *netd, struct mr_source *source)
{
	int fd = source->fd;

	mr_loop_remove(netd->loop, source);
	mr_close(fd);
}

/* Why it ended, and reap it: nobody else is to look at it then, least of all with its number gone. */
static void explain_end(struct mr_netd_run *netd, struct mr_error *err)
{
	int status;

	mr_assert(netd->pid > 0);
	drop(netd, &netd->process);
	status = mr_wait(netd->pid);
	netd->pid = 0;
	if (WIFSIGNALED(status))
		mr_err(err, MR_E_SYS, EPIPE,
		       MR_NETD_PROGRAM ", which %s, was killed by signal %d (SIG%s)",
		       netd->opts.task, WTERMSIG(status), sigabbrev_np(WTERMSIG(status)));
	else
		mr_err(err, MR_E_SYS, EPIPE, MR_NETD_PROGRAM ", which %s, ended with status %d",
		       netd->opts.task, WEXITSTATUS(status));
}

static void on_process(struct mr_source *source, uint32_t events)
{
	struct mr_netd_run *netd = source->owner;
	struct mr_error err = MR_ERROR_INIT;
	int r = 1;

	(void)events;
	/* What it said last comes first. */
	while (netd->channel.fd >= 0 && r == 1)
		r = take_message(netd, MSG_DONTWAIT, &err);
	drop(netd, source);
	if (r >= 0 || r == -EAGAIN)
		explain_end(netd, &err);
	lose(netd, &err);
}

int mr_netd_wait(struct mr_netd_run *netd, struct mr_error *err)
{
	uint64_t deadline = mr_now_ns() + MR_PATIENCE_NS(NETD_READY), now = mr_now_ns();
	int r = netd->channel.fd >= 0;

	while (!netd->ready && r == 1 && now < deadline) {
		struct pollfd p = { .fd = netd->channel.fd, .events = POLLIN };

		if (mr_clock_poll(&p, 1, deadline) == 1)
			r = take_message(netd, MSG_DONTWAIT, err);
		if (r == -EAGAIN)
			r = 1;
		now = mr_now_ns();
	}
	if (netd->ready)
		return 0;
	netd->lost = true; /* told by us */
	if (r == 1)
		return mr_err(err, MR_E_SYS, ETIMEDOUT, MR_NETD_PROGRAM " did not get ready");
	if (r < 0)
		return r;
	if (netd->pid == 0)
		return mr_err(err, MR_E_SYS, EPIPE, MR_NETD_PROGRAM " has ended");
	explain_end(netd, err);
	return -EPIPE;
}

bool mr_netd_send(struct mr_netd_run *netd, const struct mr_netd_head *head)
{
	return netd->channel.fd >= 0 &&
	       mr_send_msg(netd->channel.fd, head, head->size, NULL, 0) == 0;
}

const struct mr_error *mr_netd_end(const struct mr_netd_run *netd)
{
	return netd->end.code == MR_E_NONE ? NULL : &netd->end;
}

void mr_netd_rest(struct mr_netd_run *netd)
{
	netd->rests = true;
}

const struct mr_netd_window *mr_netd_window(const struct mr_netd_run *netd, size_t i)
{
	return i < netd->n_windows ? &netd->windows[i] : NULL;
}

pid_t mr_netd_pid(const struct mr_netd_run *netd)
{
	return netd->pid;
}

int mr_netd_landlock(const struct mr_netd_run *netd)
{
	return netd->landlock_abi;
}

/* --- the end -------------------------------------------------------------------------- */

/* Neither waiting for something nor stopped. */
static bool is_runnable(pid_t pid)
{
	char path[48], text[1024];
	const char *name_end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (mr_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	name_end = strrchr(text, ')');
	return name_end && mr_str_starts_with(name_end, ") R ");
}

/* Wait for a word of it.  What is there when the time is over is heard: it may be us who were kept from
 * it; and one that others keep from the processor has more time. */
static bool has_word(const struct mr_netd_run *netd, uint64_t begin, bool *ret_late)
{
	struct pollfd p = { .fd = netd->channel.fd, .events = POLLIN };
	const uint64_t deadline = begin + MR_PATIENCE_NS(NETD_STOP);
	uint64_t late_ns = 0;

	for (;;) {
		const uint64_t now = mr_now_ns();

		*ret_late = now >= deadline;
		if (mr_clock_poll(&p, 1, *ret_late ? now + late_ns : deadline) == 1)
			return true;
		if (!*ret_late)
			continue;
		if (now >= begin + MR_PATIENCE_NS(NETD_STOP_BUSY) || !is_runnable(netd->pid))
			return poll(&p, 1, 0) == 1;
		late_ns = MR_PATIENCE_NS(NETD_STOP_LOOK);
	}
}

/* What it says last may be that it failed, and then what it told is not all there was. */
static void hear_out(struct mr_netd_run *netd)
{
	const uint64_t begin = mr_now_ns();
	struct mr_error err = MR_ERROR_INIT;
	int r = 1, n_late = 0;
	bool late;

	shutdown(netd->channel.fd, SHUT_WR);
	while ((r == 1 || r == -EAGAIN) && n_late < LATE_MAX && has_word(netd, begin, &late)) {
		r = take_message(netd, MSG_DONTWAIT, &err);
		n_late += late;
	}
	if (r == 0)
		return;
	if (r == 1 || r == -EAGAIN)
		mr_err(&err, MR_E_SYS, ETIMEDOUT, MR_NETD_PROGRAM " did not come to its end");
	netd->end = err;
}

void mr_netd_stop(struct mr_netd_run *netd)
{
	if (!netd->loop)
		return;
	netd->lost = true;
	if (netd->channel.fd >= 0 && netd->pid > 0)
		hear_out(netd);
	if (netd->pid > 0) {
		kill(netd->pid, SIGKILL);
		mr_wait(netd->pid);
		netd->pid = 0;
	}
	drop(netd, &netd->process);
	drop(netd, &netd->channel);
	netd->loop = NULL;
}
