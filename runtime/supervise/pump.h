/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pumps: bytes between the caller's streams and the payload's
 *
 * An output pump reads what the payload writes, keeps head and tail, and passes
 * it on to the caller's stream without ever blocking the loop; a slow reader slows
 * the payload, nothing is buffered without bound.  The input pump feeds the
 * payload's standard input and gives bytes it did not read back to a seekable file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/loop.h"
#include "runtime/supervise/capture.h"

struct mr_error;

#define MR_PUMP_BUF 65536

/* A stream of the caller's that can be written without blocking. */
struct mr_sink_fd {
	int fd; /* -1: nothing is passed on */
	bool own; /* opened by us */
	bool socket, pollable;
};
/* Open a non-blocking way to the caller's descriptor (a fresh description, so that its flags, which
 * others share, stay as they are). */
int mr_sink_fd_open(int caller_fd, struct mr_sink_fd *ret, struct mr_error *err);
void mr_sink_fd_close(struct mr_sink_fd *sink);
/* A write to it failed: a reader that is gone wants no more (EPIPE); everything else, a full disk for
 * one, is said, and true: something is lost that somebody wanted. */
bool mr_sink_failed(int errnum);

struct mr_pump_out {
	struct mr_loop *loop;
	int in_fd; /* from the payload, owned; -1 once it has ended */
	struct mr_source
		in; /* in_fd, only while nothing waits: a hang-up is told again and again */
	struct mr_source out; /* to the caller, only while something waits */
	struct mr_sink_fd sink;
	struct mr_capture capture;
	char *buf; /* what could not be passed on yet */
	size_t pending_at, pending_end;
	uint64_t *
		may_pass; /* bytes that may still be passed on, of all that share it; NULL: no bound */
	uint64_t passed; /* bytes that the caller's stream took */
	size_t left; /* bytes to read until the cut; SIZE_MAX: no cut */
	bool ended; /* end of file, or the reader is gone */
	bool lost; /* the caller's stream failed, which was said: not all was passed on */
	bool unread; /* the caller's stream takes no more, for whatever reason */
	/* n bytes came; 0: the stream ended or what waited was passed on. May not stop the pump. */
	void (*on_progress)(struct mr_pump_out *pump, size_t n);
	void *owner;
};

/* Start reading in_fd (non-blocking, owned from now on). sink.fd -1 keeps only the capture. */
int mr_pump_out_start(struct mr_pump_out *pump, struct mr_loop *loop, int in_fd,
		      struct mr_sink_fd sink, size_t head, size_t tail,
		      void (*on_progress)(struct mr_pump_out *, size_t), void *owner,
		      struct mr_error *err);
/* Everything the payload wrote has been read (or its reader is gone) and passed on. */
bool mr_pump_out_done(const struct mr_pump_out *pump);
/* Read no more than what is in the pipe by now: whoever still holds its other end is not waited
 * for, but what the payload wrote is still kept and passed on. */
void mr_pump_out_cut(struct mr_pump_out *pump);
void mr_pump_out_stop(struct mr_pump_out *pump);
/* Stop because nobody takes it: what was not passed on is said, and the capture counts as truncated. */
void mr_pump_out_drop(struct mr_pump_out *pump);

struct mr_pump_in {
	struct mr_loop *loop;
	struct mr_source in; /* the caller's; not in the loop for a regular file */
	struct mr_source out; /* to the payload */
	struct mr_source again; /* timer, while the caller's terminal is another job's */
	int in_fd; /* borrowed or owned, see own_in */
	bool own_in, in_is_file;
	int out_fd; /* write end, owned */
	bool tty; /* out_fd is a terminal's master: end of file is typed (^D) */
	bool typed_end; /* it is what waits in buf */
	char last; /* byte that was fed */
	off_t fed; /* bytes taken from in_fd */
	int unread_fd; /* once out_fd is closed: reading end, to count what the payload left; or -1 */
	char *buf;
	size_t at, end;
	bool ended;
};
/* Feed out_fd (non-blocking, owned) from in_fd. */
int mr_pump_in_start(struct mr_pump_in *pump, struct mr_loop *loop, int in_fd, bool own_in,
		     int out_fd, bool tty, struct mr_error *err);
/* Feed no more: what it fed is closed. */
void mr_pump_in_end(struct mr_pump_in *pump);
/* Stop, and give unread bytes back to a seekable file. */
void mr_pump_in_stop(struct mr_pump_in *pump);
