/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pumps
 *
 * Flow control is the pipe's: while bytes wait for a slow reader, the payload's
 * pipe is not read, fills, and the payload blocks in write(2), as it would without
 * us.  A reader that is gone (EPIPE) closes the payload's pipe, so that `yes | head`
 * ends.
 */
#include "runtime/supervise/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"

#define END_OF_FILE '\004' /* as typed */

int mr_sink_fd_open(int caller_fd, struct mr_sink_fd *ret, struct mr_error *err)
{
	char path[32];
	struct stat st;
	int fd;

	*ret = (struct mr_sink_fd){ .fd = -1 };
	if (fstat(caller_fd, &st) < 0)
		return errno == EBADF
			       ? 0
			       : mr_err(err, MR_E_SYS, errno, "stat descriptor %d: %m", caller_fd);
	if (S_ISDIR(st.st_mode))
		return mr_err(err, MR_E_USAGE, EISDIR, "descriptor %d is a directory", caller_fd);
	ret->fd = caller_fd;
	ret->socket = S_ISSOCK(st.st_mode);
	ret->pollable = !S_ISREG(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return 0; /* a file never blocks; a socket takes MSG_DONTWAIT */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", caller_fd);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0) {
		ret->fd = fd;
		ret->own = true;
	}
	return 0; /* EACCES on somebody else's terminal: write to it as it is */
}

void mr_sink_fd_close(struct mr_sink_fd *sink)
{
	if (sink->own)
		mr_close(sink->fd);
	sink->fd = -1;
	sink->own = false;
}

bool mr_sink_failed(int errnum)
{
	if (errnum == EPIPE || errnum == ECONNRESET)
		return false;
	errno = errnum;
	mr_log_error("what the program writes cannot be passed on: %m; the rest of it is lost");
	return true;
}

static ssize_t sink_write(const struct mr_sink_fd *sink, const char *buf, size_t n)
{
	/* Where we could not make it non-blocking, a small write after poll is the next best. */
	if (sink->socket)
		return send(sink->fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(sink->fd, buf, sink->own || !sink->pollable || n < 4096 ? n : 4096);
}

static void end_input(struct mr_pump_out *pump)
{
	mr_loop_remove(pump->loop, &pump->in);
	pump->in_fd = mr_close(pump->in_fd);
	pump->ended = true;
}

/* Pass on what waits. True when nothing waits any more. */
static bool flush(struct mr_pump_out *pump)
{
	while (pump->pending_at < pump->pending_end) {
		ssize_t n = sink_write(&pump->sink, pump->buf + pump->pending_at,
				       pump->pending_end - pump->pending_at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0) { /* EPIPE, ENOSPC: the reader is lost; let the payload know */
			pump->lost = mr_sink_failed(errno);
			pump->unread = true;
			if (pump->lost)
				mr_capture_cut(&pump->capture);
			pump->pending_at = pump->pending_end = 0;
			mr_sink_fd_close(&pump->sink);
			if (!pump->ended)
				end_input(pump);
			return true;
		}
		pump->pending_at += (size_t)n;
		pump->passed += (uint64_t)n;
	}
	pump->pending_at = pump->pending_end = 0;
	return true;
}

static void on_readable(struct mr_source *source, uint32_t events);

static void on_writable(struct mr_source *source, uint32_t events)
{
	struct mr_pump_out *pump = source->owner;
	struct mr_error err;

	(void)events;
	if (!flush(pump))
		return;
	mr_loop_remove(pump->loop, &pump->out);
	if (!pump->ended &&
	    mr_loop_add(pump->loop, &pump->in, pump->in_fd, EPOLLIN, on_readable, pump, &err) < 0)
		end_input(pump);
	pump->on_progress(pump, 0);
}

/* Stop reading until the caller's stream takes more.  Out of the loop, since EPOLLHUP comes even where
 * nothing is asked for, and would turn the loop for as long as the reader takes nothing. */
static void wait_for_reader(struct mr_pump_out *pump)
{
	struct mr_error err;

	mr_loop_remove(pump->loop, &pump->in);
	if (mr_loop_add(pump->loop, &pump->out, pump->sink.fd, EPOLLOUT, on_writable, pump, &err) <
	    0) {
		pump->pending_at = pump->pending_end = 0;
		if (!pump->ended)
			end_input(pump);
	}
}

/* How many of n bytes may be passed on. */
static size_t take_allowance(struct mr_pump_out *pump, size_t n)
{
	if (!pump->may_pass)
		return n;
	if (n > *pump->may_pass) {
		n = (size_t)*pump->may_pass;
		mr_capture_cut(&pump->capture);
	}
	*pump->may_pass -= n;
	return n;
}

static void on_readable(struct mr_source *source, uint32_t events)
{
	struct mr_pump_out *pump = source->owner;
	ssize_t n;

	(void)events;
	n = read(pump->in_fd, pump->buf, pump->left < MR_PUMP_BUF ? pump->left : MR_PUMP_BUF);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) { /* EIO: the last holder of a terminal is gone */
		end_input(pump);
		pump->on_progress(pump, 0);
		return;
	}
	mr_capture_add(&pump->capture, pump->buf, (size_t)n);
	if (pump->left != SIZE_MAX)
		pump->left -= (size_t)n;
	if (pump->left == 0)
		end_input(pump);
	if (pump->sink.fd >= 0) {
		pump->pending_end = take_allowance(pump, (size_t)n);
		if (!flush(pump))
			wait_for_reader(pump);
	}
	pump->on_progress(pump, (size_t)n);
}

int mr_pump_out_start(struct mr_pump_out *pump, struct mr_loop *loop, int in_fd,
		      struct mr_sink_fd sink, size_t head, size_t tail,
		      void (*on_progress)(struct mr_pump_out *, size_t), void *owner,
		      struct mr_error *err)
{
	int r;

	*pump = (struct mr_pump_out){ .loop = loop,
				      .in_fd = in_fd,
				      .in.fd = -1,
				      .out.fd = -1,
				      .sink = sink,
				      .left = SIZE_MAX,
				      .on_progress = on_progress,
				      .owner = owner };
	mr_capture_init(&pump->capture, head, tail);
	pump->buf = malloc(MR_PUMP_BUF);
	if (!pump->buf) {
		pump->in_fd = mr_close(pump->in_fd);
		return mr_err(err, MR_E_SYS, ENOMEM, "output buffer: %m");
	}
	r = mr_loop_add(loop, &pump->in, in_fd, EPOLLIN, on_readable, pump, err);
	if (r < 0)
		end_input(pump);
	return r;
}

bool mr_pump_out_done(const struct mr_pump_out *pump)
{
	return !pump->buf || (pump->ended && !pump->pending_end);
}

void mr_pump_out_cut(struct mr_pump_out *pump)
{
	int waiting = 0;

	if (!pump->buf || pump->ended)
		return;
	if (ioctl(pump->in_fd, FIONREAD, &waiting) < 0 || waiting <= 0)
		end_input(pump);
	else
		pump->left = (size_t)waiting;
}

void mr_pump_out_stop(struct mr_pump_out *pump)
{
	if (!pump->buf)
		return;
	if (!pump->ended)
		end_input(pump);
	mr_loop_remove(pump->loop, &pump->out);
	mr_sink_fd_close(&pump->sink);
	free(pump->buf);
	pump->buf = NULL;
}

void mr_pump_out_drop(struct mr_pump_out *pump)
{
	int unread = 0;

	if (!mr_pump_out_done(pump)) {
		if (!pump->ended)
			ioctl(pump->in_fd, FIONREAD, &unread);
		mr_log_error("nobody reads what the program writes: %zu bytes of it are dropped",
			     pump->pending_end - pump->pending_at + (size_t)unread);
		mr_capture_cut(&pump->capture);
		pump->lost = true;
	}
	mr_pump_out_stop(pump);
}

/* The payload goes on reading after the end of the caller's file; how much it leaves is known
 * only when it is over.  Earlier, a reading end of ours would hide that its own is closed. */
static int reopen_reading(int pipe_fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", pipe_fd);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static void stop_waiting(struct mr_pump_in *pump)
{
	int timer = pump->again.fd;

	mr_loop_remove(pump->loop, &pump->again);
	mr_close(timer);
}

static void end_feed(struct mr_pump_in *pump)
{
	mr_loop_remove(pump->loop, &pump->in);
	mr_loop_remove(pump->loop, &pump->out);
	stop_waiting(pump);
	if (pump->in_is_file && !pump->own_in && !pump->tty)
		pump->unread_fd = reopen_reading(pump->out_fd);
	pump->out_fd = mr_close(pump->out_fd);
	pump->ended = true;
}

static void feed_more(struct mr_pump_in *pump);

static void on_feed_writable(struct mr_source *source, uint32_t events)
{
	struct mr_pump_in *pump = source->owner;
	ssize_t n = 0;

	if (pump->at < pump->end)
		n = write(pump->out_fd, pump->buf + pump->at, pump->end - pump->at);
	if (n < 0 && (errno == EINTR || errno == EAGAIN) && !(events & EPOLLERR))
		return;
	if (n < 0 || (events & EPOLLERR)) { /* the payload closed its standard input */
		if (n > 0)
			pump->at += (size_t)n;
		end_feed(pump);
		return;
	}
	pump->at += (size_t)n;
	if (pump->at < pump->end)
		return;
	pump->at = pump->end = 0;
	if (pump->typed_end)
		end_feed(pump);
	else
		feed_more(pump);
}

/* Is the line that was fed last complete, so that the next ^D is the end and not the line's? */
static bool is_line_over(const struct mr_pump_in *pump)
{
	struct termios modes;

	if (pump->fed == 0 || pump->last == '\n' || pump->last == END_OF_FILE)
		return true;
	return pump->last == '\r' && tcgetattr(pump->out_fd, &modes) == 0 &&
	       (modes.c_iflag & ICRNL);
}

/* Typed like any other bytes: there may be no room for it yet. */
static void type_end(struct mr_pump_in *pump)
{
	struct mr_error err;

	pump->typed_end = true;
	pump->buf[0] = pump->buf[1] = END_OF_FILE;
	pump->end = is_line_over(pump) ? 1 : 2;
	mr_loop_remove(pump->loop, &pump->in);
	if (mr_loop_modify(pump->loop, &pump->out, EPOLLOUT, &err) < 0)
		end_feed(pump);
}

static void on_again(struct mr_source *source, uint32_t events)
{
	struct mr_pump_in *pump = source->owner;

	(void)events;
	mr_timer_ack(source->fd);
	stop_waiting(pump);
	feed_more(pump);
}

/* A background job may not read its terminal: what is typed there is for others. */
static bool is_another_jobs(int fd)
{
	const pid_t group = tcgetpgrp(fd);

	return group >= 0 && group != getpgrp();
}

/* Nobody tells when it is ours again: a shell's fg sends no signal to a job that runs. */
static void wait_for_terminal(struct mr_pump_in *pump)
{
	struct mr_error err;
	int timer = mr_timer_open(&err);

	mr_loop_remove(pump->loop, &pump->in);
	if (timer < 0 ||
	    mr_timer_arm(timer, mr_now_ns() + MR_PATIENCE_NS(TERMINAL_LOOK), &err) < 0 ||
	    mr_loop_add(pump->loop, &pump->again, timer, EPOLLIN, on_again, pump, &err) < 0) {
		mr_close(timer);
		end_feed(pump);
	}
}

static void on_feed_readable(struct mr_source *source, uint32_t events)
{
	struct mr_pump_in *pump = source->owner;
	struct mr_error err;
	ssize_t n = read(pump->in_fd, pump->buf, MR_PUMP_BUF);

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0 && errno == EIO && is_another_jobs(pump->in_fd)) {
		wait_for_terminal(pump);
		return;
	}
	if (n <= 0) {
		if (pump->tty && n == 0)
			type_end(pump);
		else
			end_feed(pump);
		return;
	}
	pump->end = (size_t)n;
	pump->fed += n;
	pump->last = pump->buf[n - 1];
	mr_loop_remove(pump->loop, &pump->in);
	if (mr_loop_modify(pump->loop, &pump->out, EPOLLOUT, &err) < 0)
		end_feed(pump);
}

/* The buffer is empty: wait for the caller's bytes, or read a file at once. */
static void feed_more(struct mr_pump_in *pump)
{
	struct mr_error err;
	int r;

	if (pump->in_is_file) {
		struct mr_source self = { .owner = pump };

		on_feed_readable(&self, EPOLLIN);
		return;
	}
	/* Without EPOLLOUT the loop still tells of a closed reader (EPOLLERR). */
	r = mr_loop_modify(pump->loop, &pump->out, 0, &err);
	if (r == 0)
		r = mr_loop_add(pump->loop, &pump->in, pump->in_fd, EPOLLIN, on_feed_readable, pump,
				&err);
	if (r == -EPERM) { /* /dev/zero and its like, which never block either */
		pump->in_is_file = true;
		feed_more(pump);
	} else if (r < 0) {
		end_feed(pump);
	}
}

int mr_pump_in_start(struct mr_pump_in *pump, struct mr_loop *loop, int in_fd, bool own_in,
		     int out_fd, bool tty, struct mr_error *err)
{
	struct stat st;
	int r;

	*pump = (struct mr_pump_in){ .loop = loop,
				     .in.fd = -1,
				     .out.fd = -1,
				     .again.fd = -1,
				     .in_fd = in_fd,
				     .own_in = own_in,
				     .out_fd = out_fd,
				     .unread_fd = -1,
				     .tty = tty };
	pump->buf = malloc(MR_PUMP_BUF);
	if (!pump->buf || fstat(in_fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "standard input: %m");
	pump->in_is_file = S_ISREG(st.st_mode);
	r = mr_loop_add(loop, &pump->out, out_fd, 0, on_feed_writable, pump, err);
	if (r == 0)
		feed_more(pump);
	return r;
}

/* What waits in our buffer, and in the pipe, the payload has not read. */
static void give_back(struct mr_pump_in *pump)
{
	off_t unread = (off_t)(pump->end - pump->at);
	int in_pipe = 0;

	if (pump->unread_fd >= 0 && ioctl(pump->unread_fd, FIONREAD, &in_pipe) == 0)
		unread += in_pipe;
	/* A payload of the caller's user can write into the pipe, too: no further than we came. */
	if (unread > pump->fed)
		unread = pump->fed;
	if (unread > 0 && lseek(pump->in_fd, -unread, SEEK_CUR) < 0)
		return; /* not seekable after all: read is read */
}

void mr_pump_in_end(struct mr_pump_in *pump)
{
	if (pump->buf && !pump->ended)
		end_feed(pump);
}

void mr_pump_in_stop(struct mr_pump_in *pump)
{
	if (!pump->buf) { /* never started */
		if (pump->own_in)
			pump->in_fd = mr_close(pump->in_fd);
		return;
	}
	if (!pump->ended)
		end_feed(pump);
	if (pump->in_is_file && !pump->own_in)
		give_back(pump);
	pump->unread_fd = mr_close(pump->unread_fd);
	if (pump->own_in)
		pump->in_fd = mr_close(pump->in_fd);
	free(pump->buf);
	pump->buf = NULL;
}
