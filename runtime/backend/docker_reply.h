/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, replies: what an engine answers, read
 *
 * An engine is trusted to start containers, not to write correct JSON: what does not fit is an
 * error (MR_E_PROTO) that says what was expected.  What is not needed is not looked at.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_error;

#define MR_DOCKER_ID_SIZE 65 /* 64 hex digits and NUL */
#define MR_DOCKER_REPLY_MAX ((size_t)8 << 20)

/* Any reply as a document; what: the request, for messages.  New reference. */
int mr_docker_reply_parse(const char *body, size_t size, const char *what, struct json_t **ret,
			  struct mr_error *err);
/* The message of a reply of status 400 and above, of any body; one line, printable. */
void mr_docker_reply_message(const char *body, size_t size, char *ret, size_t ret_size);

struct mr_docker_apis {
	unsigned int oldest, newest; /* of the API 1.X that it serves */
};
/* Of GET /version. */
int mr_docker_reply_apis(const struct json_t *reply, struct mr_docker_apis *ret,
			 struct mr_error *err);

/* Of POST /containers/create: the id, and the warnings in one line ("": none). */
int mr_docker_reply_created(const struct json_t *reply, char ret_id[MR_DOCKER_ID_SIZE],
			    char *ret_warnings, size_t warnings_size, struct mr_error *err);
/* Of POST /containers/ID/wait: the status, 0 to 255. */
int mr_docker_reply_waited(const struct json_t *reply, int *ret_status, struct mr_error *err);

struct mr_docker_state {
	bool running, oom_killed;
	int exit_code;
	char error[256]; /* why it could not be started; "" */
};
/* Of GET /containers/ID/json; what the engine shows as set is left in the document. */
int mr_docker_reply_state(const struct json_t *reply, struct mr_docker_state *ret,
			  struct mr_error *err);

struct mr_docker_stats {
	uint64_t cpu_ns, cpu_user_ns, cpu_system_ns; /* UINT64_MAX: not told */
	uint64_t memory_peak_bytes, pids;
};
/* Of GET /containers/ID/stats: what there is, never an error for what is not. */
int mr_docker_reply_stats(const struct json_t *reply, struct mr_docker_stats *ret,
			  struct mr_error *err);
