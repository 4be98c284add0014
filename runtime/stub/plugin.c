/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin is asked, and what of its reply is taken
 *
 * The reply was written by a program that nobody trusts: it is JSON of bounded size and depth with
 * exactly the values that were asked for, or it is refused.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/stub/internal.h"
#include "runtime/stub/plugin.h"

#define DEPTH_MAX 64

static bool too_deep(const json_t *value, unsigned int depth)
{
	const char *key;
	json_t *child;
	size_t i;

	if (depth > DEPTH_MAX)
		return true;
	json_object_foreach ((json_t *)(uintptr_t)value, key, child)
		if (too_deep(child, depth + 1))
			return true;
	json_array_foreach (value, i, child)
		if (too_deep(child, depth + 1))
			return true;
	return false;
}

int mr_input_parse_reply(const char *text, size_t size, json_t **ret, struct mr_error *err)
{
	static const char *const keys[] = { "version", "stubs", NULL };
	mr_auto_json json_t *reply = NULL;
	struct mr_json root, stubs;
	int r;

	if (size > MR_INPUT_REPLY_MAX)
		return mr_err(err, MR_E_USAGE, E2BIG, "its reply is over %u bytes",
			      MR_INPUT_REPLY_MAX);
	r = mr_json_parse(text, size, "its reply", &reply, err);
	if (r < 0)
		return r;
	root = mr_json_root(reply, "its reply");
	r = mr_json_want_object(&root, err);
	if (r == 0)
		r = mr_json_check_keys(&root, keys, err);
	if (r < 0)
		return r;
	if (!mr_json_member(&root, "stubs", &stubs) || json_array_size(stubs.value) != 1)
		return mr_json_err(&root, err, "stubs is a list of one value");
	if (too_deep(stubs.value, 0))
		return mr_json_err(&stubs, err, "it is nested more than %d deep", DEPTH_MAX);
	*ret = json_incref(json_array_get(stubs.value, 0));
	return 0;
}

/* given: the value that is passed on; taken. */
static json_t *make_request(struct mr_input_job *job, const char *strategy, json_t *given)
{
	return json_pack("{s:i, s:s, s:i, s:I, s:I, s:{s:s, s:s, s:b}, s:[o]}", "version", 1,
			 "strategy", strategy, "count", 1, "seed", (json_int_t)job->opts->seed,
			 "index", (json_int_t)job->opts->index, "target", "step", job->opts->step,
			 "stub", job->opts->stub, "plain", job->opts->plain, "stubs", given);
}

int mr_input_ask_plugin(struct mr_input_job *job, const char *strategy, const json_t *program,
			struct mr_input *ret, struct mr_error *err)
{
	json_t *given = mr_take_ptr(ret->value);
	mr_auto_json json_t *request =
		make_request(job, strategy, given ? given : mr_input_base(job));
	mr_auto_json json_t *value = NULL;
	const char *why;
	size_t size = 0;
	int r;

	mr_assert(request);
	if (!job->opts->plugin || !program)
		return mr_err(err, MR_E_USAGE, ENOENT,
			      "the strategy %s: there is no program of a plugin", strategy);
	r = job->opts->plugin(program, request, &value, job->opts->owner, err);
	if (r < 0)
		return mr_err_wrap(err, r, "plugin");
	ret->reshaped = true; /* it has seen the ordinary value */
	ret->value = json_incref(value);
	why = mr_input_why_unfit(job, ret, &size);
	if (why)
		return mr_err(err, MR_E_PROTO, EPROTO,
			      "plugin: its value of %zu bytes does not go into an argument or a "
			      "variable: %s",
			      size, why);
	return 0;
}
