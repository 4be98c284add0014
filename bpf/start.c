/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start the loader
 *
 * What it has to say is one struct mr_error through a pipe; it gets no variable but the
 * one the tests use.
 */
#include "bpf/start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/patience.h"
#include "runtime/base/sibling.h"
#include "runtime/base/units.h"
#include "runtime/base/wait.h"

#define PROGRAM "menace-probe-load"

static int spawn(const char *path, const char *const words[3], int out, pid_t *ret_pid)
{
	char *argv[] = { (char[]){ PROGRAM }, strdupa(words[0]), strdupa(words[1]),
			 words[2] ? strdupa(words[2]) : NULL, NULL };
	const char *own = getenv("MENACE_BPF_DIR");
	char dir[MR_PINS_PATH_MAX + 32], *envp[] = { own ? dir : NULL, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int r;

	snprintf(dir, sizeof(dir), "MENACE_BPF_DIR=%.*s", MR_PINS_PATH_MAX, own ? own : "");
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (r == 0)
		r = posix_spawn(ret_pid, path, &actions, &attr, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -r;
}

/* What it wrote until its end; past the deadline it is killed. */
static ssize_t read_answer(int fd, pid_t pid, struct mr_error *answer)
{
	const uint64_t deadline = mr_now_ns() + MR_PATIENCE_NS(PROBES_START);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (mr_now_ns() < deadline) {
		int r = mr_clock_poll(&p, 1, deadline);

		if (r > 0)
			return mr_read_full(fd, answer, sizeof(*answer));
		if (r < 0 && errno != EINTR)
			return -errno;
	}
	kill(pid, SIGKILL);
	return -ETIMEDOUT;
}

/* What it says: an error, which is taken, or text, of which the length is returned. */
static int run_loader(const char *const words[3], char text[sizeof(struct mr_error)],
		      struct mr_error *err)
{
	mr_auto_close int in = -1;
	char path[MR_SIBLING_MAX];
	struct mr_error answer = MR_ERROR_INIT;
	int r = mr_sibling_find(PROGRAM, path, err), fds[2], status;
	ssize_t n;
	pid_t pid = -1;

	if (r < 0)
		return r;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "make a pipe to " PROGRAM ": %m");
	in = fds[0];
	r = spawn(path, words, fds[1], &pid);
	mr_close(fds[1]);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "start %s: %m", path);
	n = read_answer(in, pid, &answer);
	status = mr_wait(pid);
	if (n == (ssize_t)sizeof(answer) && answer.code > MR_E_NONE && answer.code < MR_E_COUNT_) {
		answer.msg[sizeof(answer.msg) - 1] = '\0';
		*err = answer;
		return answer.errnum > 0 ? -answer.errnum : -EINVAL;
	}
	if (n < 0 || n == (ssize_t)sizeof(answer) || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return mr_err(err, MR_E_SYS, n < 0 ? (int)-n : EIO,
			      "%s failed (wait status %d): %m", path, status);
	memcpy(text, &answer, (size_t)n);
	text[n] = '\0';
	return (int)n;
}

int mr_start_loader(enum mr_probe_level level, const char *switches, struct mr_error *err)
{
	const char *const words[] = { "load", mr_probe_level_name(level), switches };
	char text[sizeof(struct mr_error)];
	int n = run_loader(words, text, err);

	return n > 0 ? mr_err(err, MR_E_PROTO, EPROTO, PROGRAM " said \"%.60s\"", text) : n;
}

int mr_start_purge(uint64_t idle_s, uint64_t *ret_removed, uint64_t *ret_left, struct mr_error *err)
{
	char idle[24], text[sizeof(struct mr_error)];
	const char *const words[] = { "purge", idle, NULL };
	char *left;
	int n;

	snprintf(idle, sizeof(idle), "%" PRIu64, idle_s);
	n = run_loader(words, text, err);
	if (n < 0)
		return n;
	/* "1 removed, 0 left" */
	left = strstr(text, " removed, ");
	if (left) {
		*left = '\0';
		left += strlen(" removed, ");
		left[strcspn(left, " ")] = '\0';
	}
	if (!left || mr_units_parse_count(text, ret_removed, NULL) < 0 ||
	    mr_units_parse_count(left, ret_left, NULL) < 0)
		return mr_err(err, MR_E_PROTO, EPROTO, PROGRAM " said \"%.60s\"", text);
	return 0;
}
