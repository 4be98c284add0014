/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run in the foreground
 *
 * Owns what belongs to the caller's terminal and signals: Ctrl-C goes to the
 * payload first, Ctrl-Z stops both, a terminal in raw mode is put back on every way
 * out.  The result goes where --json says, the payload's output where ours goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "tools/result_file.h"
#include "tools/session.h"
#include "tools/to_store.h"
#include "tools/where.h"

struct single {
	struct mr_run *run; /* one of ours, or NULL */
	struct mr_deputy *deputy; /* one that another backend does, or NULL */
	struct mr_where where;
	json_t *refused; /* result of our own, which was refused */
	struct mr_source signals;
	struct mr_result_file *file; /* of the result; the caller's */
	bool raw; /* the caller's terminal is in raw mode */
	struct termios saved;
};

static void leave_raw(struct single *s)
{
	if (s->raw && tcsetattr(STDIN_FILENO, TCSADRAIN, &s->saved) < 0)
		mr_log_warn("cannot put the terminal back: %m (try: stty sane)");
	s->raw = false;
}

/* Left as soon as the program has ended: our own messages are not written for a raw terminal. */
static void enter_raw(struct single *s)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &s->saved) < 0)
		return; /* not a terminal */
	raw = s->saved;
	cfmakeraw(&raw);
	s->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

/* Ctrl-Z: the payload first, then us; the shell continues us with SIGCONT. */
static void suspend(struct single *s)
{
	uint64_t then = mr_now_ns();

	if (s->run)
		mr_run_suspend(s->run);
	if (kill(getpid(), SIGSTOP) < 0)
		mr_log_warn("cannot stop: %m");
	if (s->run)
		mr_run_resume(s->run, mr_now_ns() - then);
}

/* Ctrl-Z, the window's size and followers are for runs of our own only. */
static void hand_on(struct single *s, int sig)
{
	if (sig == SIGTSTP)
		suspend(s);
	else if (sig != SIGWINCH && sig != SIGURG)
		mr_deputy_signal(s->deputy, sig);
}

static void on_signal(struct mr_source *source, uint32_t events)
{
	struct single *s = source->owner;
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (s->deputy)
			hand_on(s, sig);
		else if (sig == SIGTSTP)
			suspend(s);
		else if (sig == SIGWINCH)
			mr_run_resize(s->run, STDIN_FILENO);
		else if (sig == SIGURG)
			mr_run_followed(s->run);
		else if (sig == SIGUSR1 || sig == SIGUSR2)
			mr_run_forward(s->run, sig);
		else
			mr_run_interrupt(s->run, sig);
	}
}

static const struct mr_error *error_of(const struct single *s)
{
	return s->deputy ? mr_deputy_error(s->deputy) : mr_run_error(s->run);
}

/* New reference. */
static json_t *result_of(struct single *s)
{
	json_t *result;

	if (s->deputy)
		return mr_deputy_result(s->deputy);
	result = mr_run_result(s->run);
	mr_choice_put(&s->where.choice, result);
	return result;
}

/* Steals the result. */
static int report(struct single *s, const struct mr_cli *cli, struct mr_to_store *store,
		  json_t *made, const struct mr_error *failed, int status)
{
	mr_auto_json json_t *result = made;

	if (failed)
		mr_log_error("%s", failed->msg);
	mr_to_store_queue(store, &cli->spec, result, -1);
	if (!failed && mr_log_wants(MR_LOG_NOTICE) && !cli->summary)
		mr_report_notice(result);
	if (cli->summary)
		mr_report_summary(result);
	if (mr_result_file_is_wanted(s->file) && mr_result_file_write(s->file, result) < 0 &&
	    status == 0)
		status = 125;
	mr_to_store_append(store);
	return status;
}

static int report_run(struct single *s, const struct mr_cli *cli, struct mr_to_store *store)
{
	const struct mr_error *failed = error_of(s);
	int status = s->deputy ? mr_deputy_exit_status(s->deputy) : mr_run_exit_status(s->run);

	if (mr_result_file_is_wanted(s->file) || cli->summary || !store->off ||
	    (status != 0 && mr_log_wants(MR_LOG_NOTICE)))
		return report(s, cli, store, result_of(s), failed, status);
	if (failed) /* nobody wants the document: it is not made */
		mr_log_error("%s", failed->msg);
	return status;
}

/* No backend can: the result is that of our own attempt, where there was one. */
static int report_refusal(struct single *s, const struct mr_cli *cli, struct mr_to_store *store,
			  const struct mr_error *err)
{
	json_t *result = mr_where_refused(&s->where, mr_take_ptr(s->refused), err);

	return report(s, cli, store, result, err, mr_errc_exit_status(err->code));
}

static bool is_done(const struct single *s)
{
	return s->deputy ? mr_deputy_is_done(s->deputy) : mr_run_is_done(s->run);
}

static int drive(struct single *s, struct mr_run_host *host, struct mr_error *err)
{
	int r = 0;

	while (r >= 0 && !is_done(s))
		r = mr_loop_run_once(host->loop, -1, err);
	leave_raw(s);
	if (r >= 0 && s->run)
		mr_run_collect(s->run, NULL, NULL);
	return r < 0 ? r : 0;
}

static void start(struct single *s, struct mr_run_host *host, const struct mr_run_opts *opts)
{
	const struct mr_deputy_opts given = { .spec = opts->spec,
					      .choice = &s->where.choice,
					      .stdin_fd = opts->stdin_fd,
					      .stdout_fd = opts->stdout_fd,
					      .stderr_fd = opts->stderr_fd,
					      .ready = opts->ready };

	if (opts->spec->sandbox_tty)
		enter_raw(s);
	if (s->where.choice.backend == MR_BACKEND_NATIVE)
		s->run = mr_run_start(host, opts);
	else
		s->deputy = mr_deputy_start(host->loop, &given);
}

/* What was refused before its first instruction makes room for another backend. */
static bool makes_room(struct single *s, struct mr_error *ret_refusal)
{
	const struct mr_error *failed = error_of(s);

	if (!failed || !mr_where_may_move(&s->where, failed))
		return false;
	*ret_refusal = *failed;
	if (s->run)
		s->refused = result_of(s);
	s->run = mr_run_free(s->run);
	s->deputy = mr_deputy_free(s->deputy);
	return true;
}

/* In each backend that may do it, until one has. */
static int run_somewhere(struct single *s, struct mr_run_host *host, const struct mr_cli *cli,
			 const struct mr_run_opts *opts, struct mr_to_store *store)
{
	struct mr_error err = MR_ERROR_INIT, refusal = MR_ERROR_INIT;

	mr_where_init(&s->where, &cli->spec, cli->cgroup_parent);
	do {
		if (mr_where_next(&s->where, refusal.code ? &refusal : NULL, &err) < 0)
			return report_refusal(s, cli, store, &err);
		start(s, host, opts);
		if (drive(s, host, &err) < 0)
			return mr_session_fail(&err);
	} while (makes_room(s, &refusal));
	return report_run(s, cli, store);
}

int mr_single_main(struct mr_run_host *host, struct mr_cli *cli, struct mr_result_file *file)
{
	struct single s = { .signals.fd = -1, .file = file };
	struct mr_to_store store;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_run_opts opts = { .spec = &cli->spec,
				    .stdin_fd = STDIN_FILENO,
				    .stdout_fd = STDOUT_FILENO,
				    .stderr_fd = STDERR_FILENO,
				    .ready = &cli->ready };
	int signals, status;

	if (file->fd == STDOUT_FILENO)
		opts.stdout_fd = -1; /* the result alone goes there */
	if (cli->snippet_from_stdin)
		opts.stdin_fd = -1; /* used up */
	signals = mr_session_signals(&err);
	if (signals < 0 ||
	    mr_loop_add(host->loop, &s.signals, signals, EPOLLIN, on_signal, &s, &err) < 0)
		return mr_session_fail(&err);
	mr_to_store_init(&store, cli->store);
	status = run_somewhere(&s, host, cli, &opts, &store);
	mr_to_store_deinit(&store);
	json_decref(s.refused);
	mr_run_free(s.run);
	mr_deputy_free(s.deputy);
	mr_loop_remove(host->loop, &s.signals);
	mr_close(signals);
	return status;
}
