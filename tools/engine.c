/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engine
 */
#include "tools/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/sibling.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"

#define PROGRAM "menace-docker"
#define ANSWER_MAX ((size_t)64 << 20)

static char **make_argv(const char *path, const char *const *words)
{
	size_t n = 0;
	char **argv;

	while (words[n])
		n++;
	argv = mr_str_alloc((n + 3) * sizeof(*argv));
	argv[0] = (char *)(uintptr_t)path;
	argv[1] = (char *)(uintptr_t) "task";
	for (size_t i = 0; i < n; i++)
		argv[i + 2] = (char *)(uintptr_t)words[i];
	return argv;
}

static int start(const char *const *words, pid_t *ret_pid, int *ret_fd, struct mr_error *err)
{
	mr_auto_free char **argv = NULL;
	mr_auto_close int ours = -1, theirs = -1;
	posix_spawn_file_actions_t actions;
	char path[MR_SIBLING_MAX];
	int fds[2], errnum, r = mr_sibling_find(PROGRAM, path, err);

	if (r < 0)
		return r;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "make a pipe from " PROGRAM ": %m");
	ours = fds[0];
	theirs = fds[1];
	argv = make_argv(path, words);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return mr_err(err, MR_E_SYS, ENOMEM, "start %s: %m", path);
	errnum = posix_spawn_file_actions_adddup2(&actions, theirs, STDOUT_FILENO);
	if (errnum == 0)
		errnum = posix_spawn(ret_pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (errnum != 0)
		return mr_err(err, MR_E_SYS, errnum, "start %s: %m", path);
	*ret_fd = mr_take_fd(ours);
	return 0;
}

static int read_answer(int fd, struct mr_buf *text, struct mr_error *err)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mr_err(err, MR_E_SYS, errno, "read the answer of " PROGRAM ": %m");
		if (text->len + (size_t)n > ANSWER_MAX)
			return mr_err(err, MR_E_PROTO, EFBIG,
				      "the answer of " PROGRAM " has more than %zu bytes",
				      ANSWER_MAX);
		mr_buf_addn(text, buf, (size_t)n);
	}
	return 0;
}

static int take_answer(const struct mr_buf *text, json_t **ret, struct mr_error *err)
{
	mr_auto_json json_t *answer = NULL;
	const char *message = NULL;
	json_t *done;
	int code = 0, errnum = 0;
	int r = mr_json_parse(text->text ? text->text : "", text->len, "answer of " PROGRAM,
			      &answer, err);

	if (r < 0)
		return r;
	done = json_object_get(answer, "done");
	if (done) {
		*ret = json_incref(done);
		return 0;
	}
	if (json_unpack(answer, "{s:{s:i, s:i, s:s}}", "error", "code", &code, "errno", &errnum,
			"message", &message) < 0 ||
	    code <= MR_E_NONE || code >= MR_E_COUNT_)
		return mr_err(err, MR_E_PROTO, EPROTO, "the answer of " PROGRAM " is none");
	return mr_err(err, (enum mr_errc)code, errnum ? errnum : EIO, "%s", message);
}

int mr_engine_ask(const char *const *words, json_t **ret, struct mr_error *err)
{
	mr_auto_buf struct mr_buf text = { 0 };
	mr_auto_close int fd = -1;
	int status, r;
	pid_t pid = 0;

	r = start(words, &pid, &fd, err);
	if (r < 0)
		return r;
	r = read_answer(fd, &text, err);
	status = mr_wait(pid);
	if (r < 0)
		return r;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return mr_err(err, MR_E_PROTO, EPROTO, PROGRAM " %s %d without an answer",
			      WIFSIGNALED(status) ? "was ended by signal" : "ended with status",
			      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return take_answer(&text, ret, err);
}
