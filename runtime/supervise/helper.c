/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper
 *
 * It begins with the byte that says that it is in its control group.  Between the fork and the body
 * all its descriptors go, and its signals are as those of a new process.  That it dies with its
 * parent is asked of the kernel, too, because other helpers that are just being forked hold the
 * pipe's end for an instant.
 */
#include "runtime/supervise/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"
#include "runtime/base/wait.h"

void mr_seconds_draw(struct mr_seconds *seconds, struct mr_rand *rand, unsigned int percent)
{
	for (size_t i = 0; i < MR_SECONDS; i++)
		if (mr_rand_below(rand, 100) < percent)
			seconds->fires[i / 8] |= (uint8_t)(1U << (i % 8));
}

bool mr_seconds_fire(const struct mr_seconds *seconds, uint64_t second)
{
	const size_t i = second % MR_SECONDS;

	return seconds->fires[i / 8] & (1U << (i % 8));
}

bool mr_helper_wait(int fd, uint64_t until_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const uint64_t now = mr_now_ns();
	const uint64_t left = until_ns > now ? until_ns - now : 0;
	const struct timespec wait = { .tv_sec = (time_t)(left / MR_SECOND_NS),
				       .tv_nsec = (long)(left % MR_SECOND_NS) };

	return ppoll(&p, 1, &wait, NULL) > 0;
}

__attribute__((noreturn)) static void become_helper(int fd, pid_t parent, const char *name,
						    void (*body)(void *arg, int fd), void *arg)
{
	sigset_t none;
	char go;

	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(fd, 0) < 0 || close_range(1, ~0U, 0) < 0)
		_exit(1);
	signal(SIGINT, SIG_IGN); /* a terminal's are the supervisor's to handle */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(0, &go, 1) == 1)
		body(arg, 0);
	_exit(0);
}

int mr_helper_start(struct mr_helper *helper, const struct mr_cgroup *group, const char *name,
		    void (*body)(void *arg, int fd), void *arg, struct mr_error *err)
{
	const pid_t parent = getpid();
	int pair[2], r;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "make a pipe: %m");
	pid = fork();
	if (pid == 0)
		become_helper(pair[0], parent, name, body, arg);
	mr_close(pair[0]);
	if (pid < 0) {
		r = mr_err(err, MR_E_SYS, errno, "start %s: %m", name);
		mr_close(pair[1]);
		return r;
	}
	*helper = (struct mr_helper){ .pid = pid, .fd = pair[1] };
	r = mr_cgroup_add(group, pid, err);
	if (r == 0 && write(helper->fd, "g", 1) != 1)
		r = mr_err(err, MR_E_SYS, errno, "start %s: %m", name);
	return r;
}

/* Not in time: in a group that gets next to no processor time. */
static bool ends_by_itself(pid_t pid)
{
	mr_auto_close int pidfd = mr_pidfd_open(pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && mr_clock_poll(&p, 1, mr_now_ns() + MR_PATIENCE_NS(HELPER_END)) == 1;
}

void mr_helper_stop(struct mr_helper *helper)
{
	if (helper->pid == 0)
		return;
	mr_close(helper->fd);
	if (!ends_by_itself(helper->pid))
		kill(helper->pid, SIGKILL);
	mr_wait(helper->pid);
	*helper = (struct mr_helper){ .fd = -1 };
}

void *mr_helper_share(size_t size, struct mr_error *err)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory != MAP_FAILED)
		return memory;
	mr_err(err, MR_E_SYS, errno, "memory to share: %m");
	return NULL;
}
