/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, streams: between the caller's descriptors and a container
 *
 * Two connections: one with both outputs, one for the input, whose end is the end of
 * the input.  While the caller does not take what is there nothing is read of the engine, so that
 * a slow reader slows the payload as it does natively.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/backend/docker_stream.h"
#include "runtime/base/buf.h"
#include "runtime/supervise/capture.h"
#include "runtime/supervise/pump.h"

struct mr_docker;
struct mr_docker_wire;
struct mr_error;
struct mr_spec;

struct mr_docker_sink {
	struct mr_sink_fd fd;
	struct mr_capture capture;
	struct mr_buf waiting; /* what the caller has not taken */
	size_t at;
};

struct mr_docker_streams {
	struct mr_docker_stream stream;
	struct mr_docker_wire *out, *in; /* NULL: ended */
	struct mr_docker_sink sinks[2]; /* output, error output */
	int stdin_fd; /* -1: ended, or there is none */
	char *input; /* what the engine has not taken */
	size_t input_at, input_end;
	char *order; /* owned; goes before the input */
	size_t order_at, order_size;
	const char *
		awaited; /* what the output has to begin with before the input is read; NULL: nothing,
				or it came */
	size_t awaited_at;
	bool refused; /* it began with something else */
	uint64_t total; /* bytes of both outputs */
	size_t ahead; /* bytes that may wait for the caller while more is read */
	bool moved; /* since somebody last set it to false */
	bool lost; /* the caller did not take all of it, though he has not gone */
	char engine_said[256]; /* on its own channel */
};

/* Connect to a container that is made and not started.  stdin_fd -1: no input. */
int mr_docker_streams_open(struct mr_docker *docker, const char *id, const struct mr_spec *spec,
			   int stdin_fd, int stdout_fd, int stderr_fd,
			   struct mr_docker_streams *ret, struct mr_error *err);
void mr_docker_streams_close(struct mr_docker_streams *streams);
/* To a container that waits for an order: it is sent, and until the answer has come nothing of the
 * caller's input is read.  order: stolen; answer: borrowed. */
void mr_docker_streams_order(struct mr_docker_streams *streams, char *order, size_t size,
			     const char *answer);

/* Up to 5 descriptors to wait for; their number. */
#define MR_DOCKER_STREAMS_FDS 5
size_t mr_docker_streams_wants(const struct mr_docker_streams *streams, struct pollfd *fds);
/* Move what can be moved.  MR_E_PROTO: the engine's stream is broken. */
int mr_docker_streams_move(struct mr_docker_streams *streams, struct mr_error *err);
/* From here on read of the engine what there is, 16 MiB before the caller takes it: an engine ends no
 * container whose output nobody reads. */
void mr_docker_streams_read_ahead(struct mr_docker_streams *streams);
/* The caller has not taken all that came. */
bool mr_docker_streams_is_blocked(const struct mr_docker_streams *streams);
/* All of the output has come and was passed on. */
bool mr_docker_streams_ended(const struct mr_docker_streams *streams);
/* Read and feed no more; what is kept is kept.  Before the container is removed by force: an engine
 * does not end what nobody reads. */
void mr_docker_streams_cut(struct mr_docker_streams *streams);
/* Stop to feed the input. */
void mr_docker_streams_stop_input(struct mr_docker_streams *streams);
