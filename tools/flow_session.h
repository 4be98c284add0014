/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session: what commands that run workflows keep, and where
 *
 * The store has the rows; beside it, in the folder PATH.flows/ID, stand the files of
 * what is not finished.  The folder is locked by whoever runs it and goes with the
 * end.  Without a store there is a folder for temporary files, and nothing to resume.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/json.h"

struct mr_cmd_common;
struct mr_error;
struct mr_flow;
struct mr_store;

struct mr_flow_session {
	struct mr_store *store; /* NULL: none */
	char id[17];
	char *folder, *stage, *own; /* the latter two are in the first */
	int lock_fd;
	char *base; /* folder of the workflow's source */
	struct mr_flow *flow;
	json_t *row; /* of what is resumed, or NULL */
	const char *row_name, *row_key; /* statement that gave it, and its column */
};
#define MR_FLOW_SESSION_INIT  \
	{                     \
		.lock_fd = -1 \
	}

/* Open the store; MENACE_STORE=none is none. */
int mr_flow_session_open(struct mr_flow_session *session, const struct mr_cmd_common *common,
			 struct mr_error *err);
/* The workflow that a word means: the number of one in the store, or a file. */
int mr_flow_session_find(struct mr_flow_session *session, const char *word, struct mr_error *err);
/* The workflow of the row that statement `name` gives for id (column `key`; both static): to be resumed. */
int mr_flow_session_resume(struct mr_flow_session *session, const char *name, const char *key,
			   const char *id, struct mr_error *err);
/* With the workflow known: the folder, locked, and the stage in it. */
int mr_flow_session_prepare(struct mr_flow_session *session, struct mr_error *err);
/* What went wrong is in *err; say how command `what` goes on from what was kept.  Returns r. */
int mr_flow_session_tell(const struct mr_flow_session *session, const char *what, int r,
			 const struct mr_error *err);
/* All is there: the folder goes. */
void mr_flow_session_finish(struct mr_flow_session *session);
/* What is not finished stays, if there is a store. */
void mr_flow_session_close(struct mr_flow_session *session);

/* Microseconds since 1970. */
int64_t mr_flow_session_now_us(void);
