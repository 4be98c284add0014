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
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

#define IDLE_MAX 8 /* that wait; more are ended */
#define SAID_KEPT 65536 /* bytes of messages, after which they are written over */

struct mr_runners {
	char *program, *store;
	struct mr_runner idle[IDLE_MAX];
	size_t n_idle;
};

static void close_all(struct mr_runner *runner)
{
	mr_close(runner->in_fd);
	mr_close(runner->out_fd);
	mr_close(runner->said_fd);
	*runner = (struct mr_runner){ .in_fd = -1, .out_fd = -1, .said_fd = -1 };
}

static int wait_for(struct mr_runner *runner)
{
	int status = 0;
	pid_t got;

	do
		got = waitpid(runner->pid, &status, 0);
	while (got < 0 && errno == EINTR);
	close_all(runner);
	return status;
}

int mr_runner_end(struct mr_runner *runner)
{
	if (runner->pid <= 0)
		return 0;
	kill(runner->pid, SIGTERM);
	return wait_for(runner);
}

/* --- starting -------------------------------------------------------------- */

/* In the child, between fork and exec.  A group of its own: an interrupt from the terminal is the
 * caller's, who decides what of it goes on to whom. */
static _Noreturn void become(char **argv, pid_t parent, int in_fd, int out_fd, int said_fd)
{
	sigset_t none;
	bool good = setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 &&
		    dup2(in_fd, STDIN_FILENO) >= 0 && dup2(out_fd, STDOUT_FILENO) >= 0 &&
		    dup2(said_fd, STDERR_FILENO) >= 0;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); /* the caller's signals come by a descriptor */
	if (good && getppid() == parent) /* else: it died before it could be watched */
		execv(argv[0], argv);
	_exit(125);
}

static int spawn(const struct mr_runners *runners, struct mr_runner *runner, int in_fd, int out_fd,
		 struct mr_error *err)
{
	mr_auto_free char *program = mr_str_dup(runners->program);
	mr_auto_free char *store = runners->store ? mr_str_format("--store=%s", runners->store)
						  : mr_str_dup("--quiet");
	char quiet[] = "--quiet", batch[] = "--batch", jobs[] = "--jobs=1";
	char *argv[] = { program, quiet, batch, jobs, store, NULL };
	const pid_t parent = getpid();

	runner->pid = fork();
	if (runner->pid == 0)
		become(argv, parent, in_fd, out_fd, runner->said_fd);
	return runner->pid < 0 ? mr_err(err, MR_E_SYS, errno, "fork: %m") : 0;
}

static int start(const struct mr_runners *runners, struct mr_runner *runner, struct mr_error *err)
{
	mr_auto_close int in_fd = -1;
	mr_auto_close int out_fd = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return mr_err(err, MR_E_SYS, errno, "socketpair: %m");
	runner->in_fd = pair[0];
	in_fd = pair[1];
	if (pipe2(pair, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "pipe: %m");
	runner->out_fd = pair[0];
	out_fd = pair[1];
	if (fcntl(runner->out_fd, F_SETFL, O_NONBLOCK) < 0)
		return mr_err(err, MR_E_SYS, errno, "O_NONBLOCK: %m");
	runner->said_fd = memfd_create("menace-messages", MFD_CLOEXEC);
	if (runner->said_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "memfd_create: %m");
	return spawn(runners, runner, in_fd, out_fd, err);
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
	if (runner->said_from > SAID_KEPT)
		runner->said_from = lseek(runner->said_fd, 0, SEEK_SET);
	r = send_all(runner->in_fd, line, size);
	return r == 0 ? send_all(runner->in_fd, "\n", 1) : r;
}

int mr_runners_take(struct mr_runners *runners, const char *line, size_t size,
		    struct mr_runner *ret, struct mr_error *err)
{
	int r = -EPIPE;

	*ret = (struct mr_runner){ .in_fd = -1, .out_fd = -1, .said_fd = -1 };
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
	if (r < 0) {
		mr_runner_end(ret);
		return mr_err(err, MR_E_SYS, -r, "request for menace-run: %m");
	}
	return 0;
}

void mr_runners_put(struct mr_runners *runners, struct mr_runner *runner)
{
	if (runners->n_idle == IDLE_MAX)
		mr_runner_end(runner);
	else
		runners->idle[runners->n_idle++] = *runner;
	*runner = (struct mr_runner){ .in_fd = -1, .out_fd = -1, .said_fd = -1 };
}

struct mr_runners *mr_runners_new(const char *program, const char *store)
{
	struct mr_runners *runners = mr_str_alloc(sizeof(*runners));

	runners->program = mr_str_dup(program);
	runners->store = store ? mr_str_dup(store) : NULL;
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
	free(runners);
	return NULL;
}
