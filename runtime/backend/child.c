/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child
 *
 * The process is started as a runner's is (runner.h).  A pidfd in the loop tells the
 * end, or of a runner the line that is its result.  A child that is given up gets
 * SIGTERM, by which menace-run takes its sandbox down before it goes; it is waited for.
 */
#include "runtime/backend/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/runner.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"

#define RESULT_MAX (256 << 20)
#define SAID_MAX 300 /* bytes of its messages that are passed on */
#define CHUNK 65536

struct mr_child {
	struct mr_loop *loop;
	struct mr_source source; /* the pidfd, or what the runner says */
	pid_t pid;
	int result_fd, said_fd;
	struct mr_runners *runners; /* or NULL */
	struct mr_runner runner;
	struct mr_source ready; /* of a runner that holds */
	bool let_go;
	bool interrupted, cut; /* cut: the result is not whole */
	char *line; /* of a runner: the result so far, no more of it than is read */
	size_t line_size, line_cap;
	uint64_t size; /* of the result, all of it */
	int status; /* of waitpid(2), once it has ended */
	char said[SAID_MAX]; /* its last words, on one line */
	json_t *result;
	void (*on_ready)(struct mr_child *child, void *owner);
	void (*on_end)(struct mr_child *child, void *owner);
	void *owner;
};

int mr_child_find_program(char ret[PATH_MAX], struct mr_error *err)
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - sizeof("/menace-run"));
	char *slash;

	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "read /proc/self/exe: %m");
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	mr_assert(slash);
	memcpy(slash, "/menace-run", sizeof("/menace-run"));
	if (access(ret, X_OK) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s, which runs programs: %m", ret);
	return 0;
}

/* --- starting -------------------------------------------------------------- */

static int open_memory(const char *name, int *ret, struct mr_error *err)
{
	*ret = memfd_create(name, MFD_CLOEXEC);
	return *ret < 0 ? mr_err(err, MR_E_SYS, errno, "memfd_create: %m") : 0;
}

static int write_spec(const json_t *spec, int *ret, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(spec, JSON_COMPACT | JSON_ENSURE_ASCII);
	int r = open_memory("menace-spec", ret, err);

	mr_assert(text);
	if (r == 0)
		r = mr_write_full(*ret, text, strlen(text));
	if (r < 0 && *ret >= 0)
		return mr_err(err, MR_E_SYS, -r, "request for menace-run: %m");
	return r;
}

/* What the program reads, from its beginning; -1: nothing. */
static int write_input(const struct mr_child_opts *opts, int *ret, struct mr_error *err)
{
	int r = opts->input ? open_memory("menace-input", ret, err) : 0;

	if (r < 0 || !opts->input)
		return r;
	r = mr_write_full(*ret, opts->input, opts->input_size);
	if (r == 0 && lseek(*ret, 0, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "input for menace-run: %m") : 0;
}

static int spawn(const struct mr_child_opts *opts, struct mr_child *child, int spec_fd,
		 int input_fd, struct mr_error *err)
{
	mr_auto_free char *program = mr_str_dup(opts->program);
	mr_auto_free char *spec = mr_str_format("--spec=/proc/self/fd/%d", spec_fd);
	mr_auto_free char *json = mr_str_format("--json=FD:%d", child->result_fd);
	mr_auto_free char *store =
		opts->store ? mr_str_format("--store=%s", opts->store) : mr_str_dup("--quiet");
	char quiet[] = "--quiet";
	char *argv[] = { program, quiet, spec, json, store, NULL };
	const int kept[] = { spec_fd, child->result_fd };
	const int streams[] = { input_fd, opts->output_fd > 0 ? opts->output_fd : -1,
				child->said_fd };

	child->pid = mr_runner_spawn(argv, streams, kept, N_ELEMENTS(kept), err);
	return child->pid < 0 ? child->pid : 0;
}

/* What it said, on one line. */
static void read_said(int fd, off_t from, char said[SAID_MAX])
{
	ssize_t n = pread(fd, said, SAID_MAX - 1, from);

	said[n < 0 ? 0 : n] = '\0';
	for (char *p = said; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = *p == '\n' && p[1] == '\0' ? '\0' : ' ';
}

static int wait_for(struct mr_child *child)
{
	pid_t got;

	do
		got = waitpid(child->pid, &child->status, 0);
	while (got < 0 && errno == EINTR);
	child->pid = 0;
	return got < 0 ? -errno : 0;
}

static void on_pidfd(struct mr_source *source, uint32_t events)
{
	struct mr_child *child = source->owner;
	int fd = source->fd;

	(void)events;
	mr_loop_remove(child->loop, source);
	mr_close(fd);
	wait_for(child);
	read_said(child->said_fd, 0, child->said);
	child->on_end(child, child->owner);
}

static int watch(struct mr_child *child, struct mr_error *err)
{
	mr_auto_close int fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "watch a process: pidfd_open: %m");
	fcntl(fd, F_SETFD, FD_CLOEXEC); /* it is, since Linux 5.3 */
	r = mr_loop_add(child->loop, &child->source, fd, EPOLLIN, on_pidfd, child, err);
	if (r == 0)
		mr_take_fd(fd);
	return r;
}

static int start_own(const struct mr_child_opts *opts, struct mr_child *child, struct mr_error *err)
{
	mr_auto_close int spec_fd = -1, input_fd = -1;
	int r = write_spec(opts->spec, &spec_fd, err);

	if (r == 0)
		r = write_input(opts, &input_fd, err);
	if (r == 0)
		r = open_memory("menace-result", &child->result_fd, err);
	if (r == 0)
		r = open_memory("menace-messages", &child->said_fd, err);
	if (r == 0)
		r = spawn(opts, child, spec_fd, input_fd, err);
	return r == 0 ? watch(child, err) : r;
}

/* --- by a runner ----------------------------------------------------------- */

/* Its result, whole or not, is in line.  With a whole one it stays for the next run, unless it was
 * interrupted. */
static void end_runner(struct mr_child *child, bool whole)
{
	mr_loop_remove(child->loop, &child->source);
	mr_loop_remove(child->loop, &child->ready);
	if (whole && !child->interrupted) {
		mr_runners_put(child->runners, &child->runner);
	} else {
		read_said(child->runner.said_fd, child->runner.said_from, child->said);
		child->status = mr_runner_end(&child->runner);
	}
	child->cut = !whole;
	child->on_end(child, child->owner);
}

static void keep_chunk(struct mr_child *child, const char *chunk, size_t n)
{
	child->size += n;
	if (child->size > RESULT_MAX)
		return; /* it is refused: only its end is waited for */
	while (child->line_cap < child->line_size + n)
		child->line = mr_str_grow(child->line, child->line_cap, &child->line_cap, 1);
	memcpy(child->line + child->line_size, chunk, n);
	child->line_size += n;
}

static void on_line(struct mr_source *source, uint32_t events)
{
	struct mr_child *child = source->owner;
	char chunk[CHUNK];
	ssize_t n = read(source->fd, chunk, sizeof(chunk));

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		keep_chunk(child, chunk, (size_t)n);
	if (n <= 0)
		end_runner(child, false);
	else if (chunk[n - 1] == '\n') /* there is no other in a line of JSON */
		end_runner(child, true);
}

void mr_child_let_go(struct mr_child *child)
{
	child->let_go = true;
	/* One that has died says so by its end. */
	if (child->runner.hold_fd >= 0)
		(void)send(child->runner.hold_fd, "\n", 1, MSG_NOSIGNAL);
}

/* Once more where another backend does what the first one could not: it has been waited for. */
static void on_ready(struct mr_source *source, uint32_t events)
{
	struct mr_child *child = source->owner;
	char word;
	ssize_t n = recv(source->fd, &word, 1, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		mr_loop_remove(child->loop, source);
	else if (child->let_go || !child->on_ready)
		mr_child_let_go(child);
	else
		child->on_ready(child, child->owner);
}

static int start_by_runner(const struct mr_child_opts *opts, struct mr_child *child,
			   struct mr_error *err)
{
	mr_auto_free char *line = json_dumps(opts->spec, JSON_COMPACT | JSON_ENSURE_ASCII);
	int r;

	mr_assert(line);
	r = mr_runners_take(opts->runners, line, strlen(line), &child->runner, err);
	if (r == 0)
		r = mr_loop_add(child->loop, &child->source, child->runner.out_fd, EPOLLIN, on_line,
				child, err);
	if (r == 0 && child->runner.hold_fd >= 0)
		r = mr_loop_add(child->loop, &child->ready, child->runner.hold_fd, EPOLLIN,
				on_ready, child, err);
	return r;
}

int mr_child_start(const struct mr_child_opts *opts, struct mr_child **ret, struct mr_error *err)
{
	struct mr_child *child = mr_str_alloc(sizeof(*child));
	int r;

	mr_assert(!opts->runners || !opts->input);
	child->loop = opts->loop;
	child->source.fd = child->ready.fd = child->result_fd = child->said_fd = -1;
	child->on_ready = opts->on_ready;
	child->on_end = opts->on_end;
	child->owner = opts->owner;
	child->runners = opts->runners;
	child->runner = MR_RUNNER_NONE;
	r = opts->runners ? start_by_runner(opts, child, err) : start_own(opts, child, err);
	if (r < 0) {
		mr_child_free(child);
		return mr_err_wrap(err, r, "start menace-run");
	}
	*ret = child;
	return 0;
}

/* --- the end --------------------------------------------------------------- */

static int fail_without_result(const struct mr_child *child, struct mr_error *err)
{
	if (WIFSIGNALED(child->status))
		return mr_err(err, MR_E_PROTO, EPIPE, "menace-run was killed by signal %d",
			      WTERMSIG(child->status));
	return mr_err(err, MR_E_PROTO, EPIPE, "menace-run ended with status %d%s%s",
		      WEXITSTATUS(child->status), child->said[0] ? ": " : " and said nothing",
		      child->said);
}

/* Of a process of its own: what it wrote, as a line. */
static int read_file(struct mr_child *child, struct mr_error *err)
{
	ssize_t n;

	child->line = mr_str_alloc((size_t)child->size + 1);
	if (lseek(child->result_fd, 0, SEEK_SET) < 0)
		return mr_err(err, MR_E_SYS, errno, "result of menace-run: %m");
	n = mr_read_full(child->result_fd, child->line, (size_t)child->size);
	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "result of menace-run: %m");
	child->line_size = (size_t)n;
	return 0;
}

static int read_result(struct mr_child *child, struct mr_error *err)
{
	struct stat st;
	int r = 0;

	if (!child->runners && fstat(child->result_fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "result of menace-run: %m");
	if (!child->runners)
		child->size = (uint64_t)st.st_size;
	if (child->cut || child->size == 0)
		return fail_without_result(child, err);
	if (child->size > RESULT_MAX)
		return mr_err(err, MR_E_PROTO, EFBIG,
			      "result of menace-run: %ju bytes, more than the %d that are read; a "
			      "lower --output-limit makes it shorter",
			      (uintmax_t)child->size, RESULT_MAX);
	if (!child->runners)
		r = read_file(child, err);
	if (r == 0)
		r = mr_json_parse(child->line, child->line_size, "result of menace-run",
				  &child->result, err);
	free(mr_take_ptr(child->line));
	return r;
}

int mr_child_result(struct mr_child *child, const json_t **ret, struct mr_error *err)
{
	int r = child->result ? 0 : read_result(child, err);

	if (r == 0)
		*ret = child->result;
	return r;
}

void mr_child_interrupt(struct mr_child *child)
{
	const pid_t pid = child->runner.pid > 0 ? child->runner.pid : child->pid;

	child->interrupted = true;
	if (pid > 0)
		mr_runner_terminate(pid);
}

/* What it made goes with it: its sandbox ends when its supervisor does. */
void mr_child_kill(struct mr_child *child)
{
	const pid_t pid = child->runner.pid > 0 ? child->runner.pid : child->pid;

	child->interrupted = true;
	if (pid > 0)
		kill(pid, SIGKILL);
}

struct mr_child *mr_child_free(struct mr_child *child)
{
	if (!child)
		return NULL;
	if (child->source.fd >= 0) {
		int fd = child->source.fd;

		mr_loop_remove(child->loop, &child->source);
		if (!child->runners)
			mr_close(fd);
	}
	mr_loop_remove(child->loop, &child->ready);
	mr_runner_end(&child->runner);
	if (child->pid > 0) {
		mr_runner_terminate(child->pid);
		mr_runner_await(child->pid);
		wait_for(child);
	}
	mr_close(child->result_fd);
	mr_close(child->said_fd);
	json_decref(child->result);
	free(child->line);
	free(child);
	return NULL;
}
