/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deputy
 *
 *   start: memfd, pipe, spawn --> report read to its end, program reaped --> done
 *
 * Both must have come: a report whose writer is still there may not be whole, and a
 * writer that is gone may have left one.  What is no result (no report, garbage, the result
 * of another run) is an error of ours, never one of the payload's.  A program that is late
 * by HANDOVER_SLACK of patience.def is killed.
 */
#include "runtime/backend/deputy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/document.h"
#include "runtime/backend/handover.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/base/sibling.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"
#include "runtime/supervise/lease.h"
#include "runtime/supervise/links.h"
#include "runtime/supervise/ready.h"

#define SAFE_FD 16 /* from here on no descriptor is one of the handover's */
#define PROBE_REPORT_MAX 65536

struct mr_deputy {
	struct mr_loop *loop;
	struct mr_deputy_opts opts;
	char run_id[MR_RUN_ID_SIZE];
	pid_t pid; /* 0: not started, or reaped */
	int wait_status;
	int report_fd, pidfd, timer_fd; /* owned */
	struct mr_source report, gone, late;
	struct mr_ready ready;
	bool held;
	struct mr_buf text;
	bool started, too_long, was_late, done;
	struct mr_error error;
	json_t *result;
};

/* --- starting a program -------------------------------------------------------------------- */

static int make_errand(const struct mr_spec *spec, const char *run_id,
		       const struct mr_choice *choice, struct mr_error *err)
{
	mr_auto_json json_t *document =
		json_pack("{s:s, s:s, s:o}", "schema", MR_HANDOVER_ERRAND_SCHEMA, "run_id", run_id,
			  "spec", mr_spec_to_json(spec));
	mr_auto_free char *text = NULL;
	mr_auto_close int fd = -1;
	int r;

	mr_assert(document);
	if (choice)
		json_object_set_new(document, "backend", mr_choice_to_json(choice));
	text = json_dumps(document, JSON_COMPACT);
	mr_assert(text);
	fd = memfd_create("menace-errand", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "memfd for the errand: %m");
	r = mr_write_full(fd, text, strlen(text));
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "write the errand: %m");
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return mr_err(err, MR_E_SYS, errno, "seal the errand: %m");
	return mr_take_fd(fd);
}

/* A copy that is in nobody's way; fd -1: of /dev/null. */
static int move_up(int fd, struct mr_error *err)
{
	mr_auto_close int null = fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
	int copy = fcntl(fd < 0 ? null : fd, F_DUPFD_CLOEXEC, SAFE_FD);

	return copy < 0 ? mr_err(err, MR_E_SYS, errno, "descriptor %d for a backend: %m", fd)
			: copy;
}

/* By number in the program; 2 stays as it is. */
struct given {
	int fds[MR_HANDOVER_FD_STDERR + 1];
};

static void drop_given(struct given *given)
{
	for (size_t i = 0; i < N_ELEMENTS(given->fds); i++)
		given->fds[i] = mr_close(given->fds[i]);
}

static int spawn_with(const char *path, const char *verb, const struct given *given, pid_t *ret,
		      struct mr_error *err)
{
	char *argv[] = { (char *)(uintptr_t)path, (char *)(uintptr_t)verb, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t defaults, waiting;
	int errnum = 0;

	/* What ends a run waits until the program takes it by descriptor, and does not end the program. */
	sigemptyset(&waiting);
	for (int sig = 1; sig < _NSIG; sig++)
		if (mr_signal_ends(sig))
			sigaddset(&waiting, sig);
	sigfillset(&defaults);
	if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attr) != 0)
		return mr_err(err, MR_E_SYS, ENOMEM, "start %s: %m", path);
	posix_spawnattr_setsigmask(&attr, &waiting);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSID);
	for (int i = 0; i < (int)N_ELEMENTS(given->fds) && errnum == 0; i++)
		if (i != STDERR_FILENO)
			errnum = posix_spawn_file_actions_adddup2(&actions, given->fds[i], i);
	if (errnum == 0)
		errnum = posix_spawn_file_actions_addclosefrom_np(&actions,
								  (int)N_ELEMENTS(given->fds));
	if (errnum == 0)
		errnum = posix_spawn(ret, path, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return errnum == 0 ? 0 : mr_err(err, MR_E_SYS, errnum, "start %s: %m", path);
}

struct streams {
	int in, out, err;
};

/* Start the backend's program; *ret_report is the end of its report that is ours. */
static int start_program(enum mr_backend backend, const char *verb, const struct streams *streams,
			 int errand, pid_t *ret_pid, int *ret_report, struct mr_error *err)
{
	const int wanted[] = { streams->in, streams->out, -1, errand, -1, streams->err };
	struct given given = { .fds = { -1, -1, -1, -1, -1, -1 } };
	mr_auto_close int ours = -1, theirs = -1;
	char path[MR_SIBLING_MAX];
	int fds[2], r = mr_sibling_find(mr_backend_program(backend), path, err);

	if (r < 0)
		return r;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "pipe for a report: %m");
	ours = fds[0];
	theirs = fds[1];
	for (size_t i = 0; i < N_ELEMENTS(wanted) && r >= 0; i++) {
		r = move_up(i == MR_HANDOVER_FD_REPORT ? theirs : wanted[i], err);
		given.fds[i] = r >= 0 ? r : -1;
	}
	if (r >= 0 && fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		r = mr_err(err, MR_E_SYS, errno, "pipe for a report: %m");
	if (r >= 0)
		r = spawn_with(path, verb, &given, ret_pid, err);
	drop_given(&given);
	if (r < 0)
		return r;
	*ret_report = mr_take_fd(ours);
	return 0;
}

/* --- reports --------------------------------------------------------------------------------- */

/* Take what is there: 1 at the end, 0 when more may come; what is longer than max is dropped. */
static int read_some(int fd, struct mr_buf *text, size_t max, bool *too_long, struct mr_error *err)
{
	char buf[65536];

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return mr_err(err, MR_E_SYS, errno, "read a report: %m");
		if (n == 0)
			return 1;
		*too_long |= text->len + (size_t)n > max;
		if (!*too_long)
			mr_buf_addn(text, buf, (size_t)n);
	}
}

static void describe_end(int wait_status, char *buf, size_t size)
{
	if (WIFSIGNALED(wait_status))
		snprintf(buf, size, "was ended by signal %d (SIG%s)", WTERMSIG(wait_status),
			 sigabbrev_np(WTERMSIG(wait_status)) ? sigabbrev_np(WTERMSIG(wait_status))
							     : "?");
	else
		snprintf(buf, size, "ended with status %d", WEXITSTATUS(wait_status));
}

static enum mr_errc code_of(const char *name)
{
	for (unsigned int i = 0; name && i < MR_E_COUNT_; i++)
		if (strcmp(mr_errc_name((enum mr_errc)i), name) == 0)
			return (enum mr_errc)i;
	return MR_E_PROTO;
}

/* --- probe ----------------------------------------------------------------------------------- */

static int take_probe(const struct mr_buf *text, struct mr_backend_facts *facts,
		      struct mr_error *err)
{
	mr_auto_json json_t *document = NULL;
	const char *schema, *why = NULL;
	json_t *item, *lacks = NULL;
	size_t i;
	int can = 0;
	int r = mr_json_parse(text->text ? text->text : "", text->len, "probe", &document, err);

	if (r < 0)
		return r;
	if (json_unpack(document, "{s:s, s:b, s?:s, s:o}", "schema", &schema, "can", &can, "why",
			&why, "lacks", &lacks) < 0 &&
	    json_unpack(document, "{s:s, s:b, s:n, s:o}", "schema", &schema, "can", &can, "why",
			"lacks", &lacks) < 0)
		return mr_err(err, MR_E_PROTO, EPROTO, "the answer is none of the schema %s",
			      MR_HANDOVER_PROBE_SCHEMA);
	if (strcmp(schema, MR_HANDOVER_PROBE_SCHEMA) != 0)
		return mr_err(err, MR_E_PROTO, EPROTO, "the answer is none of the schema %s",
			      MR_HANDOVER_PROBE_SCHEMA);
	json_array_foreach (lacks, i, item) {
		const char *name = json_string_value(item);
		enum mr_backend_need need = name ? mr_backend_need_find(name) : MR_NEED_COUNT_;

		if (need == MR_NEED_COUNT_)
			return mr_err(err, MR_E_PROTO, EPROTO, "the answer names no known need");
		facts->lacks |= UINT64_C(1) << need;
	}
	facts->can = can;
	snprintf(facts->why, sizeof(facts->why), "%s", why ? why : "");
	return 0;
}

/* Until the end of the report, or no time is left. */
static int wait_report(int fd, struct mr_buf *text, struct mr_error *err)
{
	const uint64_t until = mr_now_ns() + MR_PATIENCE_NS(HANDOVER_PROBE);
	bool too_long = false;
	int r = 0;

	while (r == 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (mr_now_ns() >= until)
			return mr_err(err, MR_E_BUSY, ETIMEDOUT, "no answer within %ju ms",
				      (uintmax_t)MR_PATIENCE_MS(HANDOVER_PROBE));
		if (mr_clock_poll(&p, 1, until) < 0 && errno != EINTR)
			return mr_err(err, MR_E_SYS, errno, "poll: %m");
		if (p.revents)
			r = read_some(fd, text, PROBE_REPORT_MAX, &too_long, err);
	}
	if (r > 0 && too_long)
		return mr_err(err, MR_E_PROTO, EFBIG, "the answer has more than %d bytes",
			      PROBE_REPORT_MAX);
	return r;
}

static int probe(enum mr_backend backend, const struct mr_spec *spec,
		 struct mr_backend_facts *facts, struct mr_error *err)
{
	const struct streams none = { -1, -1, -1 };
	mr_auto_close int errand = -1, report = -1;
	mr_auto_buf struct mr_buf text = { 0 };
	char run_id[MR_RUN_ID_SIZE], end[80];
	int status = 0, r;
	pid_t pid = 0;

	mr_lease_new_id(run_id);
	errand = make_errand(spec, run_id, NULL, err);
	if (errand < 0)
		return errand;
	r = start_program(backend, "probe", &none, errand, &pid, &report, err);
	if (r < 0)
		return r;
	r = wait_report(report, &text, err);
	/* It has said what it has to say, or is late. */
	kill(pid, SIGKILL);
	status = mr_wait(pid);
	if (r > 0 && text.len == 0) {
		describe_end(status, end, sizeof(end));
		return mr_err(err, MR_E_PROTO, EPROTO, "%s %s without an answer",
			      mr_backend_program(backend), end);
	}
	return r < 0 ? r : take_probe(&text, facts, err);
}

void mr_deputy_probe(enum mr_backend backend, const struct mr_spec *spec,
		     struct mr_backend_facts *ret)
{
	struct mr_error err = MR_ERROR_INIT;

	*ret = (struct mr_backend_facts){ .asked = true };
	if (probe(backend, spec, ret, &err) < 0) {
		ret->can = false;
		snprintf(ret->why, sizeof(ret->why), "%s", err.msg);
	}
}

/* --- run --------------------------------------------------------------------------------------- */

static json_t *failed_result(const struct mr_deputy *d)
{
	const struct mr_document failed = {
		.spec = d->opts.spec,
		.run_id = d->run_id,
		/* Of one that was started nobody knows what it has done. */
		.verdict = { .reason =
				     d->started ? MR_REASON_supervisor_lost : MR_REASON_setup_error,
			     .exit_status = mr_errc_exit_status(d->error.code) },
		.error = &d->error,
	};
	json_t *result = mr_document_make(&failed);

	mr_choice_put(d->opts.choice, result);
	return result;
}

/* The report is the result of this run, and says how it ended. */
static int check_result(struct mr_deputy *d, const json_t *result, struct mr_error *err)
{
	const json_t *error = json_object_get(result, "error");
	const char *schema = json_string_value(json_object_get(result, "schema"));
	const char *id = json_string_value(json_object_get(result, "run_id"));
	const json_t *status = json_object_get(json_object_get(result, "exit"), "status");
	const char *reason = json_string_value(json_object_get(result, "reason"));
	const char *message;

	if (!schema || strcmp(schema, "menace.result/1") != 0)
		return mr_err(err, MR_E_PROTO, EPROTO, "the report is no menace.result/1");
	if (!id || strcmp(id, d->run_id) != 0)
		return mr_err(err, MR_E_PROTO, EPROTO, "the report is of another run");
	if (!json_is_integer(status) || json_integer_value(status) < 0 ||
	    json_integer_value(status) > 255 || !reason ||
	    !json_is_object(json_object_get(result, "receipt")))
		return mr_err(err, MR_E_PROTO, EPROTO,
			      "the report lacks exit.status, reason or receipt");
	if (!json_is_object(error))
		return 0;
	message = json_string_value(json_object_get(error, "message"));
	d->error.code = code_of(json_string_value(json_object_get(error, "code")));
	/* It makes room for another backend, where a payload that may have begun would begin again. */
	if (d->error.code == MR_E_KERNEL && !mr_document_not_begun(reason))
		d->error.code = MR_E_PROTO;
	d->error.errnum = (int)json_integer_value(json_object_get(error, "errno"));
	snprintf(d->error.msg, sizeof(d->error.msg), "%s", message ? message : "no message");
	return 0;
}

static int take_report(struct mr_deputy *d, struct mr_error *err)
{
	mr_auto_json json_t *result = NULL;
	char end[80];
	int r;

	describe_end(d->wait_status, end, sizeof(end));
	if (d->was_late)
		return mr_err(err, MR_E_PROTO, ETIMEDOUT, "was %ju ms late and was killed",
			      (uintmax_t)MR_PATIENCE_MS(HANDOVER_SLACK));
	if (d->too_long)
		return mr_err(err, MR_E_PROTO, EFBIG, "its report has more than %d bytes",
			      MR_HANDOVER_REPORT_MAX);
	if (d->text.len == 0)
		return mr_err(err, MR_E_PROTO, EPROTO, "%s without a report", end);
	r = mr_json_parse(d->text.text, d->text.len, "report", &result, err);
	if (r == 0)
		r = check_result(d, result, err);
	if (r < 0)
		return r;
	mr_choice_put(d->opts.choice, result);
	d->result = mr_take_ptr(result);
	return 0;
}

static void fail(struct mr_deputy *d, const struct mr_error *err)
{
	d->error = *err;
	d->result = failed_result(d);
}

static void stop_watching(struct mr_deputy *d)
{
	mr_loop_remove(d->loop, &d->report);
	mr_loop_remove(d->loop, &d->gone);
	mr_loop_remove(d->loop, &d->late);
	d->report_fd = mr_close(d->report_fd);
	d->pidfd = mr_close(d->pidfd);
	d->timer_fd = mr_close(d->timer_fd);
}

static void be_done(struct mr_deputy *d)
{
	stop_watching(d);
	d->done = true;
	if (d->opts.on_done)
		d->opts.on_done(d, d->opts.owner);
}

static void finish(struct mr_deputy *d)
{
	const char *program = mr_backend_program(d->opts.choice->backend);
	struct mr_error err = MR_ERROR_INIT;
	int r = take_report(d, &err);

	if (r < 0) {
		mr_err_wrap(&err, r, "%s", program);
		fail(d, &err);
	}
	be_done(d);
}

/* The program has said nothing but that. */
static bool waits_for_reader(const struct mr_deputy *d)
{
	return d->text.len > 0 && strspn(d->text.text, "\n") == d->text.len;
}

static void on_report(struct mr_source *source, uint32_t events)
{
	struct mr_deputy *d = source->owner;
	struct mr_error err = MR_ERROR_INIT;

	(void)events;
	if (read_some(d->report_fd, &d->text, MR_HANDOVER_REPORT_MAX, &d->too_long, &err) == 0) {
		if (waits_for_reader(d) && mr_timer_arm(d->timer_fd, 0, &err) < 0)
			mr_log_warn("%s", err.msg);
		return;
	}
	mr_loop_remove(d->loop, &d->report); /* an error shows as a report that is not whole */
	if (!d->pid)
		finish(d);
}

static void on_gone(struct mr_source *source, uint32_t events)
{
	struct mr_deputy *d = source->owner;
	struct mr_error err = MR_ERROR_INIT;

	(void)events;
	if (!mr_wait_now(d->pid, &d->wait_status))
		return;
	d->pid = 0;
	mr_loop_remove(d->loop, &d->gone);
	/* What it wrote is in the pipe; whoever else holds its end is not waited for. */
	if (d->report.fd >= 0)
		read_some(d->report_fd, &d->text, MR_HANDOVER_REPORT_MAX, &d->too_long, &err);
	finish(d);
}

static void on_late(struct mr_source *source, uint32_t events)
{
	struct mr_deputy *d = source->owner;

	(void)events;
	mr_timer_ack(source->fd);
	d->was_late = true;
	if (d->pidfd >= 0)
		mr_pidfd_send_signal(d->pidfd, SIGKILL);
}

static int watch(struct mr_deputy *d, struct mr_error *err)
{
	const uint64_t wall = d->opts.spec->limits_wall_ms;
	int r;

	d->pidfd = mr_pidfd_open(d->pid, 0);
	if (d->pidfd < 0)
		return mr_err(err, MR_E_SYS, errno, "pidfd of a backend: %m");
	d->timer_fd = mr_timer_open(err);
	if (d->timer_fd < 0)
		return d->timer_fd;
	r = mr_loop_add(d->loop, &d->report, d->report_fd, EPOLLIN, on_report, d, err);
	if (r == 0)
		r = mr_loop_add(d->loop, &d->gone, d->pidfd, EPOLLIN, on_gone, d, err);
	if (r == 0)
		r = mr_loop_add(d->loop, &d->late, d->timer_fd, EPOLLIN, on_late, d, err);
	if (r == 0 && wall != MR_UNLIMITED)
		r = mr_timer_arm(d->timer_fd,
				 mr_now_ns() + wall * 1000000 + MR_PATIENCE_NS(HANDOVER_SLACK),
				 err);
	return r;
}

static int begin(struct mr_deputy *d, struct mr_error *err)
{
	const bool forward = d->opts.spec->output_forward;
	mr_auto_close int errand = -1, own = -1;
	struct streams streams = { .out = forward ? d->opts.stdout_fd : -1,
				   .err = forward ? d->opts.stderr_fd : -1 };
	int r;

	r = mr_links_open_input(d->opts.spec, d->opts.stdin_fd, &streams.in, &own, err);
	if (r < 0)
		return r;
	errand = make_errand(d->opts.spec, d->run_id, d->opts.choice, err);
	if (errand < 0)
		return errand;
	r = start_program(d->opts.choice->backend, "run", &streams, errand, &d->pid, &d->report_fd,
			  err);
	d->started = r == 0;
	return r < 0 ? r : watch(d, err);
}

/* Take away its other end and wait: it takes back what it made. */
static void dismiss(struct mr_deputy *d)
{
	struct pollfd p = { .fd = d->pidfd, .events = POLLIN };

	mr_loop_remove(d->loop, &d->report);
	d->report_fd = mr_close(d->report_fd);
	if (!d->pid)
		return;
	kill(d->pid, SIGTERM);
	if (p.fd < 0 || mr_clock_poll(&p, 1, mr_now_ns() + MR_PATIENCE_NS(HANDOVER_LEAVE)) != 1)
		kill(d->pid, SIGKILL);
	d->wait_status = mr_wait(d->pid);
	d->pid = 0;
}

/* It is not begun, or what was begun is taken back. */
static void fail_to_begin(struct mr_deputy *d, const struct mr_error *err)
{
	dismiss(d);
	fail(d, err);
}

static void on_go(void *owner, const struct mr_error *never)
{
	struct mr_deputy *d = owner;
	struct mr_error err = MR_ERROR_INIT;

	d->held = false;
	if (!never && begin(d, &err) == 0)
		return;
	fail_to_begin(d, never ? never : &err);
	be_done(d);
}

struct mr_deputy *mr_deputy_start(struct mr_loop *loop, const struct mr_deputy_opts *opts)
{
	struct mr_deputy *d = mr_str_alloc(sizeof(*d));
	struct mr_error err = MR_ERROR_INIT;
	int r;

	*d = (struct mr_deputy){ .loop = loop,
				 .opts = *opts,
				 .report_fd = -1,
				 .pidfd = -1,
				 .timer_fd = -1,
				 .report.fd = -1,
				 .gone.fd = -1,
				 .late.fd = -1 };
	mr_lease_new_id(d->run_id);
	r = mr_ready_tell(&d->ready, loop, opts->ready, on_go, d, &err);
	d->held = r > 0;
	if (r == 0)
		r = begin(d, &err);
	if (r < 0) {
		fail_to_begin(d, &err);
		stop_watching(d);
		d->done = true;
	}
	return d;
}

bool mr_deputy_is_done(const struct mr_deputy *d)
{
	return d->done;
}

/* Its program was not started: nothing is to be ended. */
static void end_held(struct mr_deputy *d, int sig)
{
	const struct mr_document interrupted = {
		.spec = d->opts.spec,
		.run_id = d->run_id,
		.verdict = { .reason = MR_REASON_killed_by_user, .exit_status = 128 + sig },
	};

	mr_ready_stop(&d->ready);
	d->held = false;
	d->result = mr_document_make(&interrupted);
	mr_choice_put(d->opts.choice, d->result);
	be_done(d);
}

void mr_deputy_signal(struct mr_deputy *d, int sig)
{
	if (d->held && mr_signal_ends(sig))
		end_held(d, sig);
	else if (d->pidfd >= 0)
		mr_pidfd_send_signal(d->pidfd, sig);
}

json_t *mr_deputy_result(const struct mr_deputy *d)
{
	mr_assert(d->done);
	return json_incref(d->result);
}

int mr_deputy_exit_status(const struct mr_deputy *d)
{
	mr_assert(d->done);
	return (int)json_integer_value(
		json_object_get(json_object_get(d->result, "exit"), "status"));
}

const struct mr_error *mr_deputy_error(const struct mr_deputy *d)
{
	return d->error.code ? &d->error : NULL;
}

struct mr_deputy *mr_deputy_free(struct mr_deputy *d)
{
	if (!d)
		return NULL;
	mr_ready_stop(&d->ready);
	if (!d->done)
		dismiss(d);
	stop_watching(d);
	json_decref(d->result);
	mr_buf_deinit(&d->text);
	free(d);
	return NULL;
}
