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
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "tools/session.h"
#include "tools/to_store.h"

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
		else if (sig == SIGURG)
			mr_run_followed(s->run);
		else if (sig == SIGUSR1 || sig == SIGUSR2)
			mr_run_forward(s->run, sig);
		else
			mr_run_interrupt(s->run, sig);
	}
}

/* Is this the folder that some mount shows writable? */
static bool is_shown_writable(const struct mr_spec *spec, const char *path)
{
	struct stat here, source;

	if (stat(path, &here) < 0)
		return false;
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == MR_MOUNT_RW &&
		    stat(spec->mounts[i].source, &source) == 0 && S_ISDIR(source.st_mode) &&
		    source.st_dev == here.st_dev && source.st_ino == here.st_ino)
			return true;
	return false;
}

/* How much of an absolute path leads to a folder that the program may write; 0: none. */
static size_t writable_prefix(const struct mr_spec *spec, const char *path)
{
	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		mr_auto_free char *prefix = mr_str_ndup(path, (size_t)(p - path) + 1);

		if (is_shown_writable(spec, prefix))
			return (size_t)(p - path) + 1;
	}
	return 0;
}

/*
 * Whose links are followed.  The last name never is one.  Those of the caller's own folders are
 * (/var/run): they lead with his own rights to where he wants, and the file is opened before the
 * program starts, so what it does meanwhile to any name on the way changes nothing.  But a folder
 * that this run shows writable may hold links that an earlier run left: from there on none is.
 */
static int open_beyond_links(const struct mr_spec *spec, const char *path, int flags)
{
	mr_auto_free char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	mr_auto_free char *whole = cwd ? mr_str_format("%s/%s", cwd, path) : mr_str_dup(path);
	const struct open_how how = { .flags = (uint64_t)(unsigned int)flags,
				      .mode = 0644,
				      .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	size_t n = writable_prefix(spec, whole);
	mr_auto_free char *folder = mr_str_ndup(whole, n);
	mr_auto_close int dir = -1;
	const char *rest = whole + n;

	if (n == 0)
		return open(path, flags, 0644);
	dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1
		       : (int)syscall(SYS_openat2, dir, rest + strspn(rest, "/"), &how,
				      sizeof(how));
}

/* Never waiting for the reader of a fifo: it may be planted. */
static int open_json_file(struct single *s, const struct mr_spec *spec, const char *path,
			  struct mr_error *err)
{
	s->json_fd = open_beyond_links(spec, path,
				       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK |
					       O_CLOEXEC | O_NOCTTY);
	s->json_own = true;
	if (s->json_fd < 0 && errno == ENXIO)
		return mr_err(err, MR_E_USAGE, errno, "--json %s: a fifo that nobody reads", path);
	if (s->json_fd < 0 && errno == ELOOP)
		return mr_err(err, MR_E_USAGE, errno,
			      "--json %s: %m; a link is not written through, nor one followed in a "
			      "folder that --rw shows",
			      path);
	if (s->json_fd < 0 || fcntl(s->json_fd, F_SETFL, 0) < 0)
		return mr_err(err, MR_E_USAGE, errno, "--json %s: %m", path);
	return 0;
}

/* "-", "FD:N" or a file. Opened before the run, so that a bad target costs nothing. */
static int open_json_target(struct single *s, const struct mr_cli *cli, struct mr_error *err)
{
	const char *target = cli->json_target;
	uint64_t fd;

	s->json_fd = -1;
	if (!target)
		return 0;
	if (strcmp(target, "-") == 0) {
		if (mr_session_was_closed(STDOUT_FILENO))
			return mr_err(err, MR_E_USAGE, EBADF,
				      "--json -: standard output is closed");
		s->json_fd = STDOUT_FILENO;
		return 0;
	}
	if (strncmp(target, "FD:", 3) == 0) {
		if (mr_units_parse_count(target + 3, &fd, err) < 0)
			return mr_err_wrap(err, -EINVAL, "--json");
		if (fd > INT_MAX || fcntl((int)fd, F_GETFD) < 0 || mr_session_was_closed((int)fd))
			return mr_err(err, MR_E_USAGE, EBADF,
				      "--json %s: that descriptor is not open", target);
		s->json_fd = (int)fd;
		return 0;
	}
	return open_json_file(s, &cli->spec, target, err);
}

static int write_result(struct single *s, const char *target, const json_t *result)
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
		mr_log_error("--json %s: the result cannot be written: %s", target, strerror(-r));
	return r;
}

static int report(struct single *s, const struct mr_cli *cli, struct mr_to_store *store)
{
	const struct mr_error *failed = mr_run_error(s->run);
	int status = mr_run_exit_status(s->run);
	mr_auto_json json_t *result = NULL;

	if (failed)
		mr_log_error("%s", failed->msg);
	if (s->json_fd < 0 && !cli->summary && store->off &&
	    (status == 0 || !mr_log_wants(MR_LOG_NOTICE)))
		return status; /* nobody wants the document: do not make it */
	result = mr_run_result(s->run);
	mr_to_store_queue(store, &cli->spec, result, -1);
	if (!failed && mr_log_wants(MR_LOG_NOTICE) && !cli->summary)
		mr_report_notice(result);
	if (cli->summary)
		mr_report_summary(result);
	if (s->json_fd >= 0 && write_result(s, cli->json_target, result) < 0 && status == 0)
		status = 125;
	mr_to_store_append(store);
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
	struct mr_to_store store;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_run_opts opts = { .spec = &cli->spec,
				    .stdin_fd = STDIN_FILENO,
				    .stdout_fd = STDOUT_FILENO,
				    .stderr_fd = STDERR_FILENO };
	int signals, status;

	if (open_json_target(&s, cli, &err) < 0)
		return mr_session_fail(&err);
	if (s.json_fd == STDOUT_FILENO)
		opts.stdout_fd = -1; /* the result alone goes there */
	if (cli->snippet_from_stdin)
		opts.stdin_fd = -1; /* used up */
	signals = mr_session_signals(&err);
	if (signals < 0 ||
	    mr_loop_add(host->loop, &s.signals, signals, EPOLLIN, on_signal, &s, &err) < 0)
		return mr_session_fail(&err);
	mr_to_store_init(&store, cli->store);
	if (cli->spec.sandbox_tty)
		enter_raw(&s);
	s.run = mr_run_start(host, &opts);
	status = drive(&s, host, &err) < 0 ? mr_session_fail(&err) : 0;
	leave_raw(&s);
	if (mr_run_is_done(s.run)) {
		mr_run_collect(s.run, NULL, NULL);
		status = report(&s, cli, &store);
	}
	mr_to_store_deinit(&store);
	mr_run_free(s.run);
	mr_loop_remove(host->loop, &s.signals);
	mr_close(signals);
	return status;
}
