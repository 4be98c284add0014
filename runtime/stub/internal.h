/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the strategies share
 */
#pragma once

#include "runtime/base/rand.h"
#include "runtime/stub/input.h"

enum mr_input_type {
	MR_INPUT_STR,
	MR_INPUT_INT,
	MR_INPUT_FLOAT,
	MR_INPUT_BOOL,
	MR_INPUT_LIST,
	MR_INPUT_DICT,
	MR_INPUT_DATETIME,
	MR_INPUT_ANY,
	MR_INPUT_TYPES,
};

struct mr_input_param {
	const char *name; /* borrowed */
	enum mr_input_type type;
	json_t *fallback; /* borrowed, or NULL */
};

/* A declaration, in the order of names: how a document was written decides nothing. */
struct mr_input_shape {
	struct mr_input_param *params;
	size_t n;
	bool scalar; /* one value that is no object: params[0] has no name */
	bool undeclared; /* neither type nor parameters nor templates are */
	const json_t *templates; /* array, or NULL */
};

struct mr_input_job {
	const struct mr_input_opts *opts;
	struct mr_input_shape shape;
	uint64_t seed; /* of this step and stub */
	struct mr_rand rand; /* and of this index */
};

/* declare.c */
void mr_input_shape_init(const json_t *declaration, struct mr_input_shape *ret);
void mr_input_shape_deinit(struct mr_input_shape *shape);

/* A strategy.  0; 1: it has no value, *err says why; negative. */
typedef int mr_input_fn(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err);

/* ordinary.c */
mr_input_fn mr_input_templates, mr_input_signature, mr_input_smart, mr_input_history,
	mr_input_failures, mr_input_random;
/* An ordinary value, that others are changed from: a template or a smart one; new reference. */
json_t *mr_input_base(struct mr_input_job *job);
json_t *mr_input_smart_value(struct mr_input_job *job, const struct mr_input_param *param);
/* Why a value, as the text that would be put in, does not go where this one has to (static), and how many
 * bytes that text has (ret_size may be NULL); NULL: it does. */
const char *mr_input_why_unfit(const struct mr_input_job *job, const struct mr_input *input,
			       size_t *ret_size);
bool mr_input_fits(const struct mr_input_job *job, json_t *value);

/* wrong.c */
mr_input_fn mr_input_hostile, mr_input_misuse, mr_input_legacy_schema, mr_input_flaky_upstream;

/* secret.c: what a record may say of a value of this declaration. */
enum mr_input_told mr_input_judge_told(const struct mr_input_job *job, const json_t *declaration,
				       const struct mr_input *input);

/* plugin.c: program NULL: there is none to be run.  What it is given is the value that ret has, which its
 * reply takes the place of, or an ordinary one. */
int mr_input_ask_plugin(struct mr_input_job *job, const char *strategy, const json_t *program,
			struct mr_input *ret, struct mr_error *err);
