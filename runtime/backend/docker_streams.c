/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, streams
 */
#include "runtime/backend/docker_streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/backend/docker_http.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/spec/spec.h"

#define CHUNK 65536
#define AHEAD_MAX (16u << 20)
#define ROUNDS 16 /* of reading, until others get their turn */

/* --- outputs --------------------------------------------------------------------------------------- */

static bool is_blocked(const struct mr_docker_sink *sink)
{
	return sink->at < sink->waiting.len;
}

static bool is_full(const struct mr_docker_streams *s)
{
	return s->sinks[0].waiting.len - s->sinks[0].at > s->ahead ||
	       s->sinks[1].waiting.len - s->sinks[1].at > s->ahead;
}

/* Who does not read any more gets no more; what is kept is kept. */
static void give_up(struct mr_docker_sink *sink)
{
	mr_sink_fd_close(&sink->fd);
	mr_buf_clear(&sink->waiting);
	sink->at = 0;
}

static void flush(struct mr_docker_streams *s, struct mr_docker_sink *sink)
{
	while (is_blocked(sink)) {
		const char *buf = sink->waiting.text + sink->at;
		const size_t n = sink->waiting.len - sink->at;
		ssize_t written = sink->fd.socket
					  ? send(sink->fd.fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL)
					  : write(sink->fd.fd, buf, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN)
			return;
		if (written < 0) {
			s->lost |= mr_sink_failed(errno);
			give_up(sink);
			return;
		}
		sink->at += (size_t)written;
	}
	mr_buf_clear(&sink->waiting);
	sink->at = 0;
}

static void note_engine(struct mr_docker_streams *s, const char *buf, size_t n)
{
	snprintf(s->engine_said, sizeof(s->engine_said), "%.*s", (int)(n < 200 ? n : 200), buf);
	for (char *p = s->engine_said; *p; p++)
		*p = (unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f ? '?' : *p;
}

/* How many bytes of these are the answer to an order, and so not the payload's. */
static size_t take_answer(struct mr_docker_streams *s, const char *buf, size_t n)
{
	size_t i = 0;

	while (i < n && s->awaited && !s->refused) {
		s->refused = buf[i] != s->awaited[s->awaited_at];
		if (s->refused)
			break;
		i++;
		if (!s->awaited[++s->awaited_at])
			s->awaited = NULL;
	}
	return i;
}

static void on_bytes(void *owner, enum mr_docker_channel channel, const char *buf, size_t n)
{
	struct mr_docker_streams *s = owner;
	struct mr_docker_sink *sink;

	if (channel != MR_DOCKER_STDOUT && channel != MR_DOCKER_STDERR) {
		note_engine(s, buf, n);
		return;
	}
	if (channel == MR_DOCKER_STDOUT && s->awaited) {
		const size_t taken = take_answer(s, buf, n);

		buf += taken;
		n -= taken;
		if (n == 0)
			return;
	}
	sink = &s->sinks[channel - MR_DOCKER_STDOUT];
	s->total += n;
	s->moved = true;
	mr_capture_add(&sink->capture, buf, n);
	if (sink->fd.fd < 0)
		return;
	mr_buf_addn(&sink->waiting, buf, n);
	flush(s, sink);
}

static int read_output(struct mr_docker_streams *s, struct mr_error *err)
{
	char buf[CHUNK];

	for (int i = 0; i < ROUNDS && s->out; i++) {
		long n;

		if (is_full(s))
			return 0;
		n = mr_docker_wire_read(s->out, buf, sizeof(buf), err);
		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return (int)n;
		if (n > 0) {
			int r = mr_docker_stream_feed(&s->stream, buf, (size_t)n, err);

			if (r < 0)
				return r;
			continue;
		}
		s->out = mr_docker_wire_free(s->out);
		if (!mr_docker_stream_is_whole(&s->stream))
			return mr_err(err, MR_E_PROTO, EPIPE,
				      "the engine's output stream ends within a frame");
	}
	return 0;
}

/* --- input ----------------------------------------------------------------------------------------- */

void mr_docker_streams_stop_input(struct mr_docker_streams *s)
{
	s->in = mr_docker_wire_free(s->in);
	s->stdin_fd = -1;
	s->input_at = s->input_end = 0;
}

static void feed_input(struct mr_docker_streams *s)
{
	struct mr_error ignored;

	while (s->input_at < s->input_end) {
		long n = mr_docker_wire_write(s->in, s->input + s->input_at,
					      s->input_end - s->input_at, &ignored);

		if (n == -EAGAIN)
			return;
		if (n < 0) { /* nobody reads it: as a closed pipe */
			mr_docker_streams_stop_input(s);
			return;
		}
		s->input_at += (size_t)n;
		s->moved = true;
	}
	if (s->stdin_fd < 0)
		mr_docker_streams_stop_input(s);
}

static void read_input(struct mr_docker_streams *s)
{
	ssize_t n = read(s->stdin_fd, s->input, CHUNK);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	s->input_at = 0;
	s->input_end = n > 0 ? (size_t)n : 0;
	if (n <= 0)
		s->stdin_fd = -1; /* borrowed */
	feed_input(s);
}

void mr_docker_streams_order(struct mr_docker_streams *s, char *order, size_t size,
			     const char *answer)
{
	free(s->order);
	s->order = order;
	s->order_size = size;
	s->order_at = 0;
	s->awaited = answer;
	s->awaited_at = 0;
}

/* Who does not take it does not answer, either. */
static void feed_order(struct mr_docker_streams *s)
{
	struct mr_error ignored;
	long n = mr_docker_wire_write(s->in, s->order + s->order_at, s->order_size - s->order_at,
				      &ignored);

	if (n > 0)
		s->order_at += (size_t)n;
	else if (n != -EAGAIN)
		mr_docker_streams_stop_input(s);
}

static void move_input(struct mr_docker_streams *s)
{
	struct pollfd p = { .fd = s->stdin_fd, .events = POLLIN };

	if (!s->in)
		return;
	if (s->order_at < s->order_size) {
		feed_order(s);
		return;
	}
	if (s->awaited)
		return;
	if (s->input_at < s->input_end)
		feed_input(s);
	else if (s->stdin_fd >= 0 && poll(&p, 1, 0) == 1)
		read_input(s);
}

/* --- together -------------------------------------------------------------------------------------- */

size_t mr_docker_streams_wants(const struct mr_docker_streams *s, struct pollfd *fds)
{
	size_t n = 0;

	if (s->out && !is_full(s))
		fds[n++] = (struct pollfd){ .fd = mr_docker_wire_fd(s->out), .events = POLLIN };
	for (size_t i = 0; i < 2; i++)
		if (is_blocked(&s->sinks[i]))
			fds[n++] = (struct pollfd){ .fd = s->sinks[i].fd.fd, .events = POLLOUT };
	if (s->in && (s->input_at < s->input_end || s->order_at < s->order_size))
		fds[n++] = (struct pollfd){ .fd = mr_docker_wire_fd(s->in), .events = POLLOUT };
	else if (s->in && s->stdin_fd >= 0 && !s->awaited)
		fds[n++] = (struct pollfd){ .fd = s->stdin_fd, .events = POLLIN };
	return n;
}

int mr_docker_streams_move(struct mr_docker_streams *s, struct mr_error *err)
{
	flush(s, &s->sinks[0]);
	flush(s, &s->sinks[1]);
	move_input(s);
	return read_output(s, err);
}

void mr_docker_streams_read_ahead(struct mr_docker_streams *s)
{
	s->ahead = AHEAD_MAX;
}

bool mr_docker_streams_is_blocked(const struct mr_docker_streams *s)
{
	return is_blocked(&s->sinks[0]) || is_blocked(&s->sinks[1]);
}

bool mr_docker_streams_ended(const struct mr_docker_streams *s)
{
	return !s->out && !mr_docker_streams_is_blocked(s);
}

static int open_sink(struct mr_docker_sink *sink, const struct mr_spec *spec, int fd,
		     struct mr_error *err)
{
	mr_capture_init(&sink->capture, spec->output_head_bytes, spec->output_tail_bytes);
	sink->fd.fd = -1;
	return fd >= 0 && spec->output_forward ? mr_sink_fd_open(fd, &sink->fd, err) : 0;
}

int mr_docker_streams_open(struct mr_docker *docker, const char *id, const struct mr_spec *spec,
			   int stdin_fd, int stdout_fd, int stderr_fd, struct mr_docker_streams *s,
			   struct mr_error *err)
{
	mr_auto_free char *out =
		mr_str_format("/containers/%s/attach?stream=1&stdout=1&stderr=1", id);
	mr_auto_free char *in = mr_str_format("/containers/%s/attach?stream=1&stdin=1", id);
	int r;

	*s = (struct mr_docker_streams){ .stream = { .on_bytes = on_bytes, .owner = s },
					 .stdin_fd = stdin_fd };
	r = open_sink(&s->sinks[0], spec, stdout_fd, err);
	if (r == 0)
		r = open_sink(&s->sinks[1], spec, stderr_fd, err);
	if (r == 0)
		r = mr_docker_wire_open(docker, out, &s->out, err);
	if (r == 0 && stdin_fd >= 0)
		r = mr_docker_wire_open(docker, in, &s->in, err);
	if (r == 0 && s->in)
		s->input = mr_str_alloc(CHUNK);
	return r;
}

void mr_docker_streams_cut(struct mr_docker_streams *s)
{
	mr_docker_streams_stop_input(s);
	s->out = mr_docker_wire_free(s->out);
}

void mr_docker_streams_close(struct mr_docker_streams *s)
{
	for (size_t i = 0; i < 2; i++) {
		mr_sink_fd_close(&s->sinks[i].fd);
		mr_capture_deinit(&s->sinks[i].capture);
		mr_buf_deinit(&s->sinks[i].waiting);
	}
	s->out = mr_docker_wire_free(s->out);
	s->in = mr_docker_wire_free(s->in);
	free(s->input);
	s->input = NULL;
	free(s->order);
	s->order = NULL;
}
