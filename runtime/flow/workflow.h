/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workflow: several steps that belong together, as data
 *
 * A document of schema menace.flow/1, see menace-flow(5).  When it was read nothing
 * outside of it is needed any more, but for its source folder: contents of files
 * stand in it.  Each step has become a request, a document of schema menace.spec/1,
 * that was judged by what menace-run itself judges requests with.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_error;
struct mr_json;

#define MR_FLOW_SCHEMA "menace.flow/1"
#define MR_FLOW_STEPS_MAX 1000
#define MR_FLOW_FILE_MAX (16u << 20) /* bytes of one file in it */
#define MR_FLOW_FILES_MAX (64u << 20) /* of all together */
#define MR_FLOW_DOCUMENT_MAX (128u << 20)
#define MR_FLOW_STUBS_MAX 256

struct mr_flow_step {
	char *name;
	struct json_t *spec; /* request, without what a run adds: workspace, mounts, input */
	struct json_t *data; /* path in the workspace: content; of all steps */
	struct json_t *files; /* the same of this step alone */
	struct json_t *fs_mocks; /* absolute path: content, or {"hide": true} */
	struct json_t *stdin_content; /* or NULL: none */
	struct json_t *fixtures; /* {"files": [name], "env": [name]} of this step alone */
	size_t *needs; /* indices of steps */
	size_t n_needs;
};

struct mr_flow {
	char *name;
	bool shared; /* all steps in one workspace, else each in its own */
	bool combined; /* a run of all steps in one sandbox comes after them */
	char *source; /* absolute path of the folder that workspaces begin as, or NULL */
	struct json_t *document; /* self-contained */
	struct mr_flow_step *steps;
	size_t n_steps;
	size_t *order; /* indices of steps, each behind what it needs, else as they stand */
};

/* folder: where its paths begin, absolute.  source names the document in messages.
 * MR_E_USAGE for whatever is wrong with it, and of a step by its place and name. */
int mr_flow_parse(struct json_t *document, const char *folder, const char *source,
		  struct mr_flow **ret, struct mr_error *err);
/* A document in a file, and (may be NULL) the folder that it is in, malloc'd. */
int mr_flow_read(const char *path, struct mr_flow **ret, char **ret_folder, struct mr_error *err);
/* One step that runs a program: what a scenario tries on a command. */
int mr_flow_of_command(char *const *argv, struct mr_flow **ret, struct mr_error *err);
struct mr_flow *mr_flow_free(struct mr_flow *flow);
static inline void mr_flow_freep(struct mr_flow **flow)
{
	*flow = mr_flow_free(*flow);
}
#define mr_auto_flow __attribute__((cleanup(mr_flow_freep)))

/* The name of a step, the document's or by its place; cut at 64 bytes. */
void mr_flow_step_name(const struct json_t *step, size_t at, char ret[65]);

/* plan.c.  Fill needs and order from the names in the document; refuses what is missing, there
 * twice or needs itself in the end, and says which. */
int mr_flow_plan(struct mr_flow *flow, const struct mr_json *steps, struct mr_error *err);

/* resolve.c.  Put into a document what it refers to: files below folder_fd. */
int mr_flow_resolve(struct json_t *document, int folder_fd, const char *source,
		    struct mr_error *err);
/* The bytes of a content after that: a text, {"base64"} or null; malloc'd with a NUL after it. */
int mr_flow_content(const struct json_t *content, char **ret, size_t *ret_size,
		    struct mr_error *err);

/* The i-th variable of the environment that takes an edge case away; NULL after the last. */
const char *mr_flow_edge_case_variable(size_t i);
/* edge_cases.c.  Add the edge cases to contents of files and network mocks, where they have none of
 * that name. */
int mr_flow_add_edge_cases(struct json_t *files, struct json_t *mocks, struct mr_error *err);
