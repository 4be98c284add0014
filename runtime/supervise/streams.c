/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of a run
 *
 * The payload never holds a descriptor of the caller.  Its standard streams are
 * pipes of ours, or a terminal of its own, and the pumps carry the bytes.
 *
 * A pipe belongs to who made it, with mode 0600: a payload with another id could not
 * open /dev/stdin, /dev/stdout, /dev/stderr or /proc/self/fd/N again.  So its mode is
 * 0666.  That gives no one else anything: the only way to a pipe without a name is a
 * descriptor of a process that may be traced.  And the payload gets no more than it has:
 * the other direction of its own streams, to read what it wrote or to feed itself.  The
 * owner stays who made it, so that the payload changes no mode or owner of ours.  (What
 * the kernel never opens again, as a socket, is not among the streams of a payload.)
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/supervise/links.h"
#include "runtime/supervise/state.h"

static int make_pipe(const char *what, int ret[2], struct mr_error *err)
{
	int r;

	if (pipe2(ret, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "make the pipe of standard %s: %m", what);
	if (fchmod(ret[0], 0666) == 0)
		return 0;
	r = mr_err(err, MR_E_SYS, errno, "let the pipe of standard %s be opened again: %m", what);
	mr_close(ret[0]);
	mr_close(ret[1]);
	return r;
}

/* The caller's input: a pipe may go as it is, nothing else of the caller's does. */
int mr_streams_open_input(struct mr_run *run, int *ret_child, int *ret_feed, int *ret_source,
			  struct mr_error *err)
{
	mr_auto_close int file = -1;
	int source = -1, pair[2], injected = -1;
	int r = mr_inject_input(run, &injected, err);
	struct stat st;

	if (r == 0 && injected >= 0)
		source = injected;
	else if (r == 0)
		r = mr_links_open_input(run->spec, run->opts.stdin_fd, &source, &file, err);
	if (r < 0)
		return r;
	if (source < 0 || fstat(source, &st) < 0)
		return 0;
	*ret_source = file >= 0 ? mr_take_fd(file) : source;
	if (run->spec->sandbox_tty)
		return 0; /* fed through the terminal */
	r = make_pipe("input", pair, err);
	if (r < 0)
		return r;
	*ret_child = pair[0];
	*ret_feed = pair[1];
	if (fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0)
		return mr_err(err, MR_E_SYS, errno, "pipe of standard input: %m");
	return 0;
}

/* Whoever has the terminal is told as by any other that is closed: by a hang-up. */
static void hang_up(struct mr_run *run)
{
	mr_pump_in_end(&run->in);
	run->pty_fd = mr_close(run->pty_fd);
}

static void on_progress(struct mr_pump_out *pump, size_t n)
{
	struct mr_run *run = pump->owner;

	if (pump->unread && run->pty_fd >= 0)
		hang_up(run);
	mr_streams_progress(pump, n);
}

static int start_output(struct mr_run *run, struct mr_pump_out *pump, int from, int caller_fd,
			struct mr_error *err)
{
	struct mr_sink_fd sink = { .fd = -1 };
	int r = 0;

	if (caller_fd >= 0 && run->spec->output_forward)
		r = mr_sink_fd_open(caller_fd, &sink, err);
	if (r == 0 && fcntl(from, F_SETFL, O_NONBLOCK) < 0)
		r = mr_err(err, MR_E_SYS, errno, "output pipe: %m");
	if (r < 0) {
		mr_close(from);
		return r;
	}
	r = mr_pump_out_start(pump, run->host->loop, from, sink, run->spec->output_head_bytes,
			      run->spec->output_tail_bytes, on_progress, run, err);
	if (run->spec->limits_output_bytes != MR_UNLIMITED)
		pump->may_pass = &run->may_pass;
	return r;
}

int mr_streams_open_outputs(struct mr_run *run, int child[3], struct mr_error *err)
{
	struct mr_pump_out *pumps[] = { &run->out, &run->err };
	const int callers[] = { run->opts.stdout_fd, run->opts.stderr_fd };

	run->may_pass = run->spec->limits_output_bytes;
	for (int i = 0; i < 2; i++) {
		int pair[2], r = make_pipe(i == 0 ? "output" : "error", pair, err);

		if (r < 0)
			return r;
		child[i + 1] = pair[1];
		r = start_output(run, pumps[i], pair[0], callers[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

bool mr_streams_own_input(struct mr_run *run)
{
	return run->spec->sandbox_stdin_path[0] && !mr_inject_has_input(run);
}

static int feed_from(struct mr_run *run, int source, int feed, struct mr_error *err)
{
	const bool own = mr_streams_own_input(run);

	if (source < 0 || feed < 0) {
		mr_close(feed);
		if (own)
			run->in.in_fd = mr_close(source);
		return 0;
	}
	return mr_pump_in_start(&run->in, run->host->loop, source, own, feed, run->pty_fd >= 0,
				err);
}

int mr_streams_start_input(struct mr_run *run, int *pty, struct mr_error *err)
{
	int feed, r;

	if (!run->spec->sandbox_tty)
		return feed_from(run, run->in.in_fd, mr_take_fd(run->feed_fd), err);
	run->pty_fd = mr_take_fd(*pty);
	mr_run_resize(run, run->opts.stdin_fd);
	feed = fcntl(run->pty_fd, F_DUPFD_CLOEXEC, 3);
	if (feed < 0)
		return mr_err(err, MR_E_SYS, errno, "terminal: %m");
	r = start_output(run, &run->out, fcntl(run->pty_fd, F_DUPFD_CLOEXEC, 3),
			 run->opts.stdout_fd, err);
	if (r < 0) {
		mr_close(feed);
		return r;
	}
	return feed_from(run, run->in.in_fd, feed, err);
}

void mr_run_resize(struct mr_run *run, int tty_fd)
{
	struct winsize size;

	if (run->pty_fd >= 0 && tty_fd >= 0 && ioctl(tty_fd, TIOCGWINSZ, &size) == 0 &&
	    ioctl(run->pty_fd, TIOCSWINSZ, &size) < 0)
		mr_log_debug("run %s: size of the terminal: %m", run->id);
}
