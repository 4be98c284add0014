/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runner
 *
 * Requests go through a socket, so that one that has died is an error of the send and
 * not a signal.  It reads a whole line before it begins, so sending never waits long.
 */
#include "runtime/backend/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"

#define IDLE_MAX 8 /* that wait; more are ended */
#define SAID_KEPT 65536 /* bytes of messages, after which they are thrown away */

struct mr_runners {
	char *program, *store, *cgroup_parent;
	bool holds;
	struct mr_runner idle[IDLE_MAX];
	size_t n_idle;
};

static void close_all(struct mr_runner *runner)
{
	mr_close(runner->in_fd);
	mr_close(runner->out_fd);
	mr_close(runner->hold_fd);
	mr_close(runner->said_fd);
	*runner = MR_RUNNER_NONE;
}

/* It may be writing a result that nobody reads: its pipe is closed first. */
static int wait_for(struct mr_runner *runner)
{
	const pid_t pid = runner->pid;

	close_all(runner); /* first: it may wait for us to read, or to write */
	mr_runner_await(pid);
	return mr_wait(pid);
}

int mr_runner_end(struct mr_runner *runner)
{
	if (runner->pid <= 0)
		return 0;
	mr_runner_terminate(runner->pid);
	return wait_for(runner);
}

/* One that is stopped takes no signal but these, and would be waited for without end. */
void mr_runner_terminate(pid_t pid)
{
	kill(pid, SIGTERM);
	kill(pid, SIGCONT);
}

void mr_runner_await(pid_t pid)
{
	mr_auto_close int fd = mr_pidfd_open(pid, 0);
	const uint64_t until = mr_now_ns() + MR_PATIENCE_NS(RUNNER_END);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	if (fd < 0)
		return;
	do
		n = mr_clock_poll(&p, 1, until);
	while ((n < 0 && errno == EINTR) || (n == 0 && mr_now_ns() < until));
	if (n != 0)
		return;
	mr_log_warn("menace-run (process %d) does not end when told to: it is killed; menace "
		    "cleanup "
		    "removes what it leaves",
		    (int)pid);
	kill(pid, SIGKILL);
}

/* --- starting -------------------------------------------------------------- */

/* In the child, between fork and exec.  A group of its own: an interrupt from the terminal is the
 * caller's, who decides what of it goes on to whom. */
static _Noreturn void become(char **argv, pid_t parent, const int streams[3], const int *kept,
			     size_t n_kept)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool good = null >= 0 && setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0;

	for (int i = 0; i < 3; i++)
		good = good && dup2(streams[i] >= 0 ? streams[i] : null, i) >= 0;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); /* the caller's signals come by a descriptor */
	for (size_t i = 0; i < n_kept; i++)
		good = good && fcntl(kept[i], F_SETFD, 0) == 0;
	if (good && getppid() == parent) /* else: it died before it could be watched */
		execv(argv[0], argv);
	_exit(125);
}

pid_t mr_runner_spawn(char **argv, const int streams[3], const int *kept, size_t n_kept,
		      struct mr_error *err)
{
	const pid_t parent = getpid(), pid = fork();

	if (pid == 0)
		become(argv, parent, streams, kept, n_kept);
	return pid < 0 ? mr_err(err, MR_E_SYS, errno, "fork: %m") : pid;
}

/* Its ends; hold -1: it holds no run. */
struct ends {
	int in, out, hold;
};

static int spawn(const struct mr_runners *runners, struct mr_runner *runner,
		 const struct ends *ends, struct mr_error *err)
{
	mr_auto_free char *program = mr_str_dup(runners->program);
	mr_auto_free char *store = runners->store ? mr_str_format("--store=%s", runners->store)
						  : mr_str_dup("--quiet");
	mr_auto_free char *group =
		runners->cgroup_parent ? mr_str_format("--cgroup-parent=%s", runners->cgroup_parent)
				       : mr_str_dup("--quiet");
	mr_auto_free char *ready = mr_str_format("--ready-fd=%d", ends->hold);
	mr_auto_free char *block = mr_str_format("--block-fd=%d", ends->hold);
	char quiet[] = "--quiet", batch[] = "--batch", jobs[] = "--jobs=1", brief[] = "--brief";
	char *argv[] = { program, quiet, batch, jobs, brief, store, group, ready, block, NULL };
	const int streams[] = { ends->in, ends->out, runner->said_fd };

	if (!runners->holds)
		argv[N_ELEMENTS(argv) - 3] = NULL;
	runner->pid = mr_runner_spawn(argv, streams, &ends->hold, runners->holds, err);
	return runner->pid < 0 ? runner->pid : 0;
}

static int start(const struct mr_runners *runners, struct mr_runner *runner, struct mr_error *err)
{
	mr_auto_close int in_fd = -1;
	mr_auto_close int out_fd = -1;
	mr_auto_close int hold_fd = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return mr_err(err, MR_E_SYS, errno, "make the channel to a runner: socketpair: %m");
	runner->in_fd = pair[0];
	in_fd = pair[1];
	if (pipe2(pair, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "make the pipe of a runner: %m");
	runner->out_fd = pair[0];
	out_fd = pair[1];
	if (fcntl(runner->out_fd, F_SETFL, O_NONBLOCK) < 0)
		return mr_err(err, MR_E_SYS, errno, "O_NONBLOCK: %m");
	runner->said_fd = memfd_create("menace-messages", MFD_CLOEXEC);
	if (runner->said_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "memfd_create: %m");
	if (runners->holds && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return mr_err(err, MR_E_SYS, errno, "make the channel to a runner: socketpair: %m");
	runner->hold_fd = runners->holds ? pair[0] : -1;
	hold_fd = runners->holds ? pair[1] : -1;
	return spawn(runners, runner, &(struct ends){ in_fd, out_fd, hold_fd }, err);
}

/* --- requests -------------------------------------------------------------- */

static int send_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int send_line(struct mr_runner *runner, const char *line, size_t size)
{
	int r;

	/* Both of us share the place in the file. */
	runner->said_from = lseek(runner->said_fd, 0, SEEK_CUR);
	if (runner->said_from > SAID_KEPT) {
		if (ftruncate(runner->said_fd, 0) < 0)
			return -errno;
		runner->said_from = lseek(runner->said_fd, 0, SEEK_SET);
	}
	if (runner->said_from < 0)
		return -errno;
	r = send_all(runner->in_fd, line, size);
	return r == 0 ? send_all(runner->in_fd, "\n", 1) : r;
}

/* One that has just been started and takes no request: how it ended says more than the pipe. */
static int give_up(const struct mr_runners *runners, struct mr_runner *runner, int r,
		   struct mr_error *err)
{
	const int status = mr_runner_end(runner);

	if (r == -EPIPE && WIFEXITED(status))
		return mr_err(err, MR_E_PROTO, EPIPE, "%s ended with status %d before its request",
			      runners->program, WEXITSTATUS(status));
	if (r == -EPIPE && WTERMSIG(status) != SIGTERM)
		return mr_err(err, MR_E_PROTO, EPIPE,
			      "%s was killed by signal %d before its request", runners->program,
			      WTERMSIG(status));
	return mr_err(err, MR_E_SYS, -r, "request for %s: %m", runners->program);
}

int mr_runners_take(struct mr_runners *runners, const char *line, size_t size,
		    struct mr_runner *ret, struct mr_error *err)
{
	int r = -EPIPE;

	*ret = MR_RUNNER_NONE;
	while (r < 0 && runners->n_idle > 0) {
		*ret = runners->idle[--runners->n_idle];
		r = send_line(ret, line, size);
		if (r < 0)
			mr_runner_end(ret); /* it died while it waited */
	}
	if (r == 0)
		return 0;
	r = start(runners, ret, err);
	if (r < 0) {
		close_all(ret);
		return r;
	}
	r = send_line(ret, line, size);
	return r < 0 ? give_up(runners, ret, r, err) : 0;
}

void mr_runners_put(struct mr_runners *runners, struct mr_runner *runner)
{
	/* A byte for a run that ended before it was let go would be in front of the next one's. */
	if (runners->holds || runners->n_idle == IDLE_MAX)
		mr_runner_end(runner);
	else
		runners->idle[runners->n_idle++] = *runner;
	*runner = MR_RUNNER_NONE;
}

struct mr_runners *mr_runners_new(const char *program, const char *store, const char *cgroup_parent,
				  bool holds)
{
	struct mr_runners *runners = mr_str_alloc(sizeof(*runners));

	runners->program = mr_str_dup(program);
	runners->store = store ? mr_str_dup(store) : NULL;
	runners->cgroup_parent = cgroup_parent ? mr_str_dup(cgroup_parent) : NULL;
	runners->holds = holds;
	return runners;
}

struct mr_runners *mr_runners_free(struct mr_runners *runners)
{
	if (!runners)
		return NULL;
	for (size_t i = 0; i < runners->n_idle; i++) {
		mr_close(runners->idle[i].in_fd); /* no further request: it ends by itself */
		runners->idle[i].in_fd = -1;
	}
	for (size_t i = 0; i < runners->n_idle; i++)
		wait_for(&runners->idle[i]);
	free(runners->program);
	free(runners->store);
	free(runners->cgroup_parent);
	free(runners);
	return NULL;
}
