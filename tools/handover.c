/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handover
 *
 * The program is one of our own (runtime/base/sibling.h): no PATH decides what gets to
 * see the store.
 */
#include "tools/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/sibling.h"
#include "runtime/base/wait.h"

static int spawn(const char *path, char *const *argv, int input, pid_t *ret, struct mr_error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t defaults;
	int errnum;

	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attr) != 0)
		return mr_err(err, MR_E_SYS, ENOMEM, "start %s: %m", path);
	errnum = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	if (errnum == 0)
		errnum = posix_spawn(ret, path, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return errnum == 0 ? 0 : mr_err(err, MR_E_SYS, errnum, "start %s: %m", path);
}

int mr_handover_open(const char *name, const char **argv, struct mr_handover *ret,
		     struct mr_error *err)
{
	char path[MR_SIBLING_MAX];
	mr_auto_close int input = -1;
	int fds[2];
	int r = mr_sibling_find(name, path, err);

	if (r < 0)
		return r;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "make a pipe to %s: %m", name);
	input = fds[0];
	argv[0] = ret->name = name;
	signal(SIGPIPE, SIG_IGN);
	r = spawn(path, (char *const *)(uintptr_t)argv, input, &ret->pid, err);
	if (r < 0) {
		mr_close(fds[1]);
		return r;
	}
	ret->stream = fdopen(fds[1], "w");
	mr_assert(ret->stream);
	return 0;
}

int mr_handover_close(struct mr_handover *handover, struct mr_error *err)
{
	int status;

	fclose(handover->stream); /* what was written is judged by who reads it */
	status = mr_wait(handover->pid);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return mr_err(err, MR_E_SYS, ECHILD, "%s was ended by signal %d", handover->name,
		      WTERMSIG(status));
}
