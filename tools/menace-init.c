/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-init: the first process of a container that shows the host's own programs
 *
 * An engine has an init of its own, which it puts where the host's /sbin is to be seen.  A payload as
 * process 1 would not die of its own signals and would not reap: so this starts it, hands
 * signals on to its process group, reaps what others leave, and ends as it ended (128 and the number
 * of a signal).  It holds nothing that the payload does not have, too.
 *
 *   menace-init FOLDER PROGRAM [ARGUMENT...]
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/launch/steps.h"

#define STATUS_FAILED 125

static int fail(const struct mr_error *err)
{
	mr_log_error("%s", err->msg);
	return mr_errc_exit_status(err->code);
}

static int become_payload(const char *folder, char **argv, const sigset_t *mask)
{
	struct mr_error err = MR_ERROR_INIT;

	if (setpgid(0, 0) < 0 || sigprocmask(SIG_SETMASK, mask, NULL) < 0)
		mr_err(&err, MR_E_SYS, errno, "begin: %m");
	else if (chdir(folder) < 0)
		mr_err(&err, MR_E_USAGE, errno, "working directory %s: %m", folder);
	else
		mr_program_exec(argv, environ, &err);
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
	return ended;
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
	sigset_t all, before;
	pid_t payload;

	mr_log_init("menace-init", MR_LOG_NOTICE, MR_LOG_TEXT);
	if (argc < 3) {
		mr_err(&err, MR_E_USAGE, EINVAL, "is started in a container by menace-docker");
		return fail(&err);
	}
	/* Nothing of the same user looks into this process or at its descriptors. */
	sigfillset(&all);
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || sigprocmask(SIG_SETMASK, &all, &before) < 0 ||
	    (payload = fork()) < 0) {
		mr_err(&err, MR_E_SYS, errno, "begin: %m");
		return fail(&err);
	}
	return payload == 0 ? become_payload(argv[1], argv + 2, &before) : supervise(payload, &all);
}
