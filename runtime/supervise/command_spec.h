/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command spec: the run that answers one request (commands.h)
 */
#pragma once

#include "netns/stub_lane.h"

struct json_t;
struct mr_error;
struct mr_mock;
struct mr_spec;

#define MR_COMMAND_MEMORY (256ULL << 20)
#define MR_COMMAND_PIDS 64
#define MR_COMMAND_DISK (64ULL << 20)
#define MR_COMMAND_SAID_MAX 100 /* bytes of what it says on its standard error */

/* Looked at: the sizes are within their bounds, method and target are printable ASCII. */
struct mr_command_request {
	struct mr_stub_ask_head head;
	const char *method, *target; /* no NUL ends them */
	const char *input; /* head_size and body_size bytes */
};

/* Before the payload starts: where the program of this mock's command is; malloc'd.  MR_E_USAGE: the
 * payload of this run could change it. */
int mr_command_find(const struct mr_spec *outer, const struct mr_mock *mock, char **ret,
		    struct mr_error *err);
/* The document of the run; new reference.  outer: of the run that it is for. */
int mr_command_spec(const struct mr_spec *outer, const struct mr_mock *mock, const char *program,
		    const struct mr_command_request *request, struct json_t **ret,
		    struct mr_error *err);
