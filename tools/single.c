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
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/units.h"
#include "tools/session.h"

struct single {
	struct mr_run *run;
	struct mr_source signals;
	int json_fd; /* -1: no result asked */
	bool json_own;
	bool raw; /* the caller's terminal is in raw mode */
	struct termios saved;
};

static void leave_raw(struct single *s)
{
	if (s->raw && tcsetattr(STDIN_FILENO, TCSADRAIN, &s->saved) < 0)
		mr_log_warn("cannot put the terminal back: %m (try: stty sane)");
	s->raw = false;
}

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

	mr_run_suspend(s->run);
	if (kill(getpid(), SIGSTOP) < 0)
		mr_log_warn("cannot stop: %m");
	mr_run_resume(s->run, mr_now_ns() - then);
}

static void on_signal(struct mr_source *source, uint32_t events)
{
	struct single *s = source->owner;
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGTSTP)
			suspend(s);
		else if (sig == SIGWINCH)
			mr_run_resize(s->run, STDIN_FILENO);
		else if (sig == SIGUSR1 || sig == SIGUSR2)
			mr_run_forward(s->run, sig);
		else
			mr_run_interrupt(s->run, sig);
	}
}

/* Never through a link, and never waiting for the reader of a fifo: either may be planted. */
static int open_json_file(struct single *s, const char *path, struct mr_error *err)
{
	s->json_fd =
		open(path,
		     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
		     0644);
	s->json_own = true;
	if (s->json_fd < 0 && errno == ENXIO)
		return mr_err(err, MR_E_USAGE, errno, "--json %s: a fifo that nobody reads", path);
	if (s->json_fd < 0 || fcntl(s->json_fd, F_SETFL, 0) < 0)
		return mr_err(err, MR_E_USAGE, errno, "--json %s: %m", path);
	return 0;
}

/* "-", "FD:N" or a file. Opened before the run, so that a bad target costs nothing. */
static int open_json_target(struct single *s, const char *target, struct mr_error *err)
{
	uint64_t fd;

	s->json_fd = -1;
	if (!target)
		return 0;
	if (strcmp(target, "-") == 0) {
		s->json_fd = STDOUT_FILENO;
		return 0;
	}
	if (strncmp(target, "FD:", 3) == 0) {
		if (mr_units_parse_count(target + 3, &fd, err) < 0)
			return mr_err_wrap(err, -EINVAL, "--json");
		if (fd > INT_MAX || fcntl((int)fd, F_GETFD) < 0)
			return mr_err(err, MR_E_USAGE, EBADF,
				      "--json %s: that descriptor is not open", target);
		s->json_fd = (int)fd;
		return 0;
	}
	return open_json_file(s, target, err);
}

static int write_result(struct single *s, const json_t *result)
{
	mr_auto_free char *text = json_dumps(result, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	int r = text ? 0 : -ENOMEM;

	/* In a folder that the payload may write it could have put something there. EINVAL: no file */
	if (r == 0 && s->json_own && ftruncate(s->json_fd, 0) < 0 && errno != EINVAL)
		r = -errno;
	if (r == 0)
		r = mr_write_full(s->json_fd, text, strlen(text));
	if (r == 0)
		r = mr_write_full(s->json_fd, "\n", 1);
	if (s->json_own && close(s->json_fd) < 0 && r == 0)
		r = -errno;
	s->json_fd = -1;
	if (r < 0)
		mr_log_error("the result cannot be written: %s", strerror(-r));
	return r;
}

static int report(struct single *s, const struct mr_cli *cli)
{
	const struct mr_error *failed = mr_run_error(s->run);
	int status = mr_run_exit_status(s->run);
	mr_auto_json json_t *result = NULL;

	if (failed)
		mr_log_error("%s", failed->msg);
	if (s->json_fd < 0 && !cli->summary && (status == 0 || !mr_log_wants(MR_LOG_NOTICE)))
		return status; /* nobody wants the document: do not make it */
	result = mr_run_result(s->run);
	if (!failed && mr_log_wants(MR_LOG_NOTICE) && !cli->summary)
		mr_report_notice(result);
	if (cli->summary)
		mr_report_summary(result);
	if (s->json_fd >= 0 && write_result(s, result) < 0 && status == 0)
		status = 125;
	return status;
}

static int drive(struct single *s, struct mr_run_host *host, struct mr_error *err)
{
	int r = 0;

	while (r >= 0 && !mr_run_is_done(s->run))
		r = mr_loop_run_once(host->loop, -1, err);
	return r < 0 ? r : 0;
}

int mr_single_main(struct mr_run_host *host, struct mr_cli *cli)
{
	struct single s = { .signals.fd = -1 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_run_opts opts = { .spec = &cli->spec,
				    .stdin_fd = STDIN_FILENO,
				    .stdout_fd = STDOUT_FILENO,
				    .stderr_fd = STDERR_FILENO };
	int signals, status;

	if (open_json_target(&s, cli->json_target, &err) < 0)
		return mr_session_fail(&err);
	if (s.json_fd == STDOUT_FILENO)
		opts.stdout_fd = -1; /* the result alone goes there */
	if (cli->snippet_from_stdin)
		opts.stdin_fd = -1; /* used up */
	signals = mr_session_signals(&err);
	if (signals < 0 ||
	    mr_loop_add(host->loop, &s.signals, signals, EPOLLIN, on_signal, &s, &err) < 0)
		return mr_session_fail(&err);
	if (cli->spec.sandbox_tty)
		enter_raw(&s);
	s.run = mr_run_start(host, &opts);
	status = drive(&s, host, &err) < 0 ? mr_session_fail(&err) : 0;
	leave_raw(&s);
	if (mr_run_is_done(s.run))
		status = report(&s, cli);
	mr_run_free(s.run);
	mr_loop_remove(host->loop, &s.signals);
	mr_close(signals);
	return status;
}
