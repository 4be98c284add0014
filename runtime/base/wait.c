/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wait
 *
 * waitpid() fails with ECHILD when the child is gone and nothing tells how it ended.  That is an end,
 * and neither a success nor a reason to wait longer.
 */
#include "runtime/base/wait.h"

#include <errno.h>
#include <sys/wait.h>

static int wait_for(pid_t pid, int *ret_status, int options)
{
	pid_t got;

	do
		got = waitpid(pid, ret_status, options);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		*ret_status = MR_WAIT_UNKNOWN;
	return got != 0;
}

int mr_wait(pid_t pid)
{
	int status = MR_WAIT_UNKNOWN;

	wait_for(pid, &status, 0);
	return status;
}

int mr_wait_now(pid_t pid, int *ret_status)
{
	int status = 0;
	const int gone = wait_for(pid, &status, WNOHANG);

	if (gone)
		*ret_status = status;
	return gone;
}
