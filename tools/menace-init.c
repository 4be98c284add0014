/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-init: the first process of a container of ours
 *
 * An engine has an init of its own, which it puts where the host's /sbin is to be seen.  A payload as
 * process 1 would not die of its own signals and would not reap: so this starts it, hands
 * signals on to its process group, reaps what others leave, and ends as it ended (128 and the number
 * of a signal).  It holds nothing that the payload does not have, too.
 *
 *   menace-init MILLISECONDS
 *
 * It waits so long for what to start (runtime/backend/order.h), so that all of the payload can be
 * observed, and so that a container can be made before anybody knows what it will be for.  It ends
 * when that does not come in time, or when who could say it is gone.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/order.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/launch/steps.h"

#define STATUS_FAILED 125

/* What to start. */
struct task {
	const char *folder;
	char **argv, **envp;
};

static int fail(const struct mr_error *err)
{
	mr_log_error("%s", err->msg);
	return mr_errc_exit_status(err->code);
}

/* --- the task --------------------------------------------------------------------------------- */

/* Until the first byte is there: 1 when none has come. */
static int wait_for_order(uint64_t idle_ms, struct mr_error *err)
{
	const uint64_t until = mr_now_ns() + idle_ms * 1000000;
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	while (mr_now_ns() < until) {
		int r = mr_clock_poll(&p, 1, until);

		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return mr_err(err, MR_E_SYS, errno, "wait for a run: %m");
	}
	return 1;
}

static int say(const char *text, struct mr_error *err)
{
	int r = mr_write_full(STDOUT_FILENO, text, strlen(text));

	return r < 0 ? mr_err(err, MR_E_SYS, -r, "answer: %m") : 0;
}

/* 1: nobody wanted it after all. */
static int read_head(struct mr_order_head *head, struct mr_error *err)
{
	ssize_t n = mr_read_full(STDIN_FILENO, head, sizeof(*head));

	if (n == (ssize_t)sizeof(*head) && mr_order_head_asks(head)) {
		int r = say(MR_ORDER_READY, err);

		if (r < 0)
			return r;
		n = mr_read_full(STDIN_FILENO, head, sizeof(*head));
	}
	if (n == 0)
		return 1;
	if (n != (ssize_t)sizeof(*head) || !mr_order_head_is_good(head))
		return mr_err(err, MR_E_PROTO, EPROTO, "what came is no order to start something");
	return 0;
}

/* Not one byte more than it: what follows is the payload's input. */
static int read_order(struct task *task, struct mr_error *err)
{
	struct mr_order_head head;
	int r = read_head(&head, err);
	char *text;
	ssize_t n;

	if (r != 0)
		return r;
	text = mr_str_alloc((size_t)head.size + 1);
	n = mr_read_full(STDIN_FILENO, text, head.size);
	if (n != (ssize_t)head.size)
		return mr_err(err, MR_E_PROTO, EPROTO, "the order to start something is not whole");
	r = mr_order_parse(text, head.size, environ, &task->folder, &task->argv, &task->envp, err);
	if (r < 0)
		return r;
	return say(MR_ORDER_TAKEN, err);
}

/* 1: there is none. */
static int receive_task(const char *idle, struct task *task, struct mr_error *err)
{
	uint64_t idle_ms = 0;
	int r = mr_units_parse_count(idle, &idle_ms, err);

	if (r == 0)
		r = wait_for_order(idle_ms, err);
	return r == 0 ? read_order(task, err) : r;
}

/* --- the payload ------------------------------------------------------------------------------ */

static int become_payload(const struct task *task, const sigset_t *mask)
{
	struct mr_error err = MR_ERROR_INIT;

	if (setpgid(0, 0) < 0 || sigprocmask(SIG_SETMASK, mask, NULL) < 0)
		mr_err(&err, MR_E_SYS, errno, "begin: %m");
	else if (chdir(task->folder) < 0)
		mr_err(&err, MR_E_USAGE, errno, "working directory %s: %m", task->folder);
	else
		mr_program_exec(task->argv, task->envp, &err);
	return fail(&err);
}

static int status_of(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* Reap all that has ended; true, and its status, when the payload has. */
static bool reap(pid_t payload, int *ret_status)
{
	bool ended = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != payload)
			continue;
		*ret_status = status_of(status);
		ended = true;
	}
	/* Nobody is left: the payload is gone, and *ret_status stays that of a failure. */
	return ended || (pid < 0 && errno == ECHILD);
}

static int supervise(pid_t payload, const sigset_t *all)
{
	int status = STATUS_FAILED;

	while (!reap(payload, &status)) {
		int sig = sigwaitinfo(all, NULL);

		if (sig > 0 && sig != SIGCHLD && kill(-payload, sig) < 0 && kill(payload, sig) < 0)
			mr_log_warn("signal %d: %m", sig);
	}
	return status;
}

int main(int argc, char **argv)
{
	struct mr_error err = MR_ERROR_INIT;
	struct task task = { .folder = NULL };
	sigset_t all, before;
	pid_t payload;
	int r;

	mr_log_init("menace-init", MR_LOG_NOTICE, MR_LOG_TEXT);
	if (mr_inherit_settle_helper(&err) < 0)
		return fail(&err);
	if (argc != 2) {
		mr_err(&err, MR_E_USAGE, EINVAL, "is started in a container by menace-docker");
		return fail(&err);
	}
	/* Nothing of the same user looks into this process or at its descriptors. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		r = mr_err(&err, MR_E_SYS, errno, "begin: %m");
	else
		r = receive_task(argv[1], &task, &err);
	if (r != 0)
		return r < 0 ? fail(&err) : 0;
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &before) < 0 || (payload = fork()) < 0) {
		mr_err(&err, MR_E_SYS, errno, "begin: %m");
		return fail(&err);
	}
	return payload == 0 ? become_payload(&task, &before) : supervise(payload, &all);
}
