/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input
 *
 * makers[] is all there is of a strategy here.  Random numbers begin with the seed, the step and the
 * stub: another stub in the same run changes nothing of this one.
 */
#include "runtime/stub/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/str.h"
#include "runtime/spec/bytes.h"
#include "runtime/stub/internal.h"

#define TOLD_MAX 4096 /* bytes of a value in a record */

static const struct mr_input_row rows[MR_INPUT_STRATEGIES] = {
#define STRATEGY(name_, mode_, help_) { #name_, #mode_, help_ },
#include "runtime/stub/strategies.def"
#undef STRATEGY
};

static int make_synthetic(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err);

static mr_input_fn *const makers[MR_INPUT_STRATEGIES] = {
	[MR_INPUT_templates] = mr_input_templates,
	[MR_INPUT_signature] = mr_input_signature,
	[MR_INPUT_smart] = mr_input_smart,
	[MR_INPUT_history] = mr_input_history,
	[MR_INPUT_failures] = mr_input_failures,
	[MR_INPUT_random] = mr_input_random,
	[MR_INPUT_synthetic] = make_synthetic,
	[MR_INPUT_hostile] = mr_input_hostile,
	[MR_INPUT_misuse] = mr_input_misuse,
	[MR_INPUT_legacy_schema] = mr_input_legacy_schema,
	[MR_INPUT_flaky_upstream] = mr_input_flaky_upstream,
};

const struct mr_input_row *mr_input_rows(void)
{
	return rows;
}

/* MR_INPUT_STRATEGIES: none has the name. */
static enum mr_input_strategy find(const char *name)
{
	unsigned int i = 0;

	while (i < MR_INPUT_STRATEGIES && strcmp(rows[i].name, name) != 0)
		i++;
	return (enum mr_input_strategy)i;
}

int mr_input_check_strategy(const char *strategy, struct mr_error *err)
{
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];

	if (find(strategy) != MR_INPUT_STRATEGIES ||
	    (mr_str_starts_with(strategy, MR_INPUT_PLUGIN) &&
	     strategy[sizeof(MR_INPUT_PLUGIN) - 1] != '\0'))
		return 0;
	mr_str_nearest_init(&nearest, strategy);
	for (size_t i = 0; i < MR_INPUT_STRATEGIES; i++)
		mr_str_nearest_offer(&nearest, rows[i].name);
	mr_str_quote(quoted, sizeof(quoted), strategy);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "unknown strategy of stubs %s; did you mean \"%s\"?", quoted,
			      nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "unknown strategy of stubs %s; menace-flow(5) lists them", quoted);
}

const char *mr_input_mode(const char *strategy)
{
	const enum mr_input_strategy found = find(strategy);

	if (found == MR_INPUT_STRATEGIES || strcmp(rows[found].mode, "none") == 0)
		return NULL;
	return rows[found].mode;
}

static int make_synthetic(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	const char *model = job->opts->model;
	char quoted[MR_STR_QUOTE_SIZE];

	if (!model || !model[0])
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "the strategy synthetic needs a model, and SANDBOX_STUB_MODEL names "
			      "none");
	if (!mr_str_starts_with(model, MR_INPUT_PLUGIN))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "the strategy synthetic: this version speaks to no model %s; "
			      "SANDBOX_STUB_MODEL=plugin:FILE is a program that does",
			      mr_str_quote(quoted, sizeof(quoted), model));
	return mr_input_ask_plugin(job, "synthetic", job->opts->program, ret, err);
}

/* --- making ---------------------------------------------------------------- */

/* FNV-1a of both names. */
static uint64_t seed_of(const struct mr_input_opts *opts)
{
	const char *const names[] = { opts->step, opts->stub };
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		for (const char *p = names[i];; p++) {
			hash = (hash ^ (unsigned char)*p) * 0x100000001b3ULL;
			if (!*p)
				break;
		}
	return hash ^ opts->seed;
}

static int make_one(struct mr_input_job *job, const char *strategy, const json_t *program,
		    struct mr_input *ret, struct mr_error *err)
{
	enum mr_input_strategy found;
	int r = mr_input_check_strategy(strategy, err);

	if (r < 0)
		return r;
	mr_rand_init(&job->rand, job->seed + job->opts->index);
	if (mr_str_starts_with(strategy, MR_INPUT_PLUGIN)) {
		ret->strategy = "plugin";
		ret->id = mr_str_dup(strategy + sizeof(MR_INPUT_PLUGIN) - 1);
		return mr_input_ask_plugin(job, "plugin", program, ret, err);
	}
	found = find(strategy);
	ret->strategy = rows[found].name;
	return makers[found](job, ret, err);
}

/* The first of them that has a value. */
static int make_any(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	mr_auto_free char *order =
		mr_str_dup(job->opts->order ? job->opts->order : "templates,smart");
	char *rest = order, *name;
	int r = 1;

	while (r > 0 && (name = strsep(&rest, ","))) {
		mr_input_deinit(ret);
		r = make_one(job, name + strspn(name, " "), job->opts->program, ret, err);
	}
	return r;
}

static int choose(struct mr_input_job *job, const json_t *declaration, struct mr_input *ret,
		  struct mr_error *err)
{
	const char *own = json_string_value(json_object_get(declaration, "strategy"));

	if (job->opts->strategy)
		return make_one(job, job->opts->strategy, job->opts->program, ret, err);
	if (own)
		return make_one(job, own, json_object_get(declaration, "program"), ret, err);
	return make_any(job, ret, err);
}

/* One bit of every sixteenth byte, at a place that the seed decides. */
static void corrupt(struct mr_input_job *job, struct mr_input *input)
{
	size_t at;

	if (input->absent || job->opts->plain || job->opts->index % 2 == 0)
		return;
	if (!input->bytes) {
		input->bytes = mr_input_render(input, false, &input->size);
		json_decref(input->value);
		input->value = NULL;
	}
	for (size_t from = 0; from < input->size; from += 16) {
		const size_t room = input->size - from < 16 ? input->size - from : 16;

		at = from + mr_rand_below(&job->rand, room);
		input->bytes[at] = (char)(input->bytes[at] ^ (1 << mr_rand_below(&job->rand, 8)));
		input->corrupted++;
	}
}

int mr_input_make(const json_t *declaration, const struct mr_input_opts *opts, struct mr_input *ret,
		  struct mr_error *err)
{
	struct mr_input_job job = { .opts = opts, .seed = seed_of(opts) };
	struct mr_input input = { 0 };
	int r;

	mr_input_shape_init(declaration, &job.shape);
	r = choose(&job, declaration, &input, err);
	if (r == 0 && opts->corrupt)
		corrupt(&job, &input);
	mr_input_shape_deinit(&job.shape);
	if (r != 0) {
		mr_input_deinit(&input);
		return mr_err_wrap(err, r < 0 ? r : -ENODATA, "stub \"%s\"", opts->stub);
	}
	*ret = input;
	return 0;
}

void mr_input_deinit(struct mr_input *input)
{
	json_decref(input->value);
	free(input->bytes);
	free(input->id);
	*input = (struct mr_input){ 0 };
}

/* --- telling --------------------------------------------------------------- */

char *mr_input_render(const struct mr_input *input, bool quoted, size_t *ret_size)
{
	const char *from = input->bytes;
	mr_auto_free char *text = NULL;
	size_t size = input->size;
	char *copy;

	if (!from && json_is_string(input->value) && !quoted) {
		from = json_string_value(input->value);
		size = json_string_length(input->value);
	} else if (!from && input->value) {
		text = json_dumps(input->value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY |
							JSON_REAL_PRECISION(15));
		mr_assert(text);
		from = text;
		size = strlen(text);
	}
	copy = mr_str_alloc(size + 1);
	if (from)
		memcpy(copy, from, size);
	*ret_size = size;
	return copy;
}

json_t *mr_input_record(const struct mr_input *input, const struct mr_input_opts *opts)
{
	char sha256[MR_HASH_HEX_SIZE];
	size_t size;
	mr_auto_free char *text = mr_input_render(input, false, &size);
	json_t *record;

	mr_hash_hex(text, size, sha256);
	record = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s?, s:s?, s:b, s:b, s:I, s:s}", "stub",
			   opts->stub, "step", opts->step, "strategy", input->strategy, "seed",
			   (json_int_t)opts->seed, "index", (json_int_t)opts->index, "class",
			   input->class, "id", input->id, "absent", input->absent, "raw",
			   input->bytes != NULL, "size", (json_int_t)size, "sha256", sha256);
	mr_assert(record);
	if (size <= TOLD_MAX && !input->absent)
		json_object_set_new(record, "value",
				    input->value ? json_incref(input->value)
						 : mr_spec_bytes_json(text, size));
	if (input->corrupted > 0)
		json_object_set_new(record, "corrupted",
				    json_integer((json_int_t)input->corrupted));
	return record;
}
