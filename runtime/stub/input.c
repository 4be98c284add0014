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
#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_(x)

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
	     strategy[sizeof(MR_INPUT_PLUGIN) - 1] != '\0' &&
	     mr_str_utf8_valid(strategy, strlen(strategy))))
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
	return mr_input_ask_plugin(job, "synthetic", json_object_get(job->opts->programs, model),
				   ret, err);
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

/* own: the program that the declaration has, where that names the strategy; or NULL. */
static int make_one(struct mr_input_job *job, const char *strategy, const json_t *own,
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
		if (!own)
			own = json_object_get(job->opts->programs, strategy);
		if (!own)
			return mr_err(err, MR_E_USAGE, ENOENT, "%s: there is no program of it",
				      strategy);
		return mr_input_ask_plugin(job, "plugin", own, ret, err);
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
		r = make_one(job, name + strspn(name, " "), NULL, ret, err);
	}
	return r;
}

static int choose(struct mr_input_job *job, const json_t *declaration, struct mr_input *ret,
		  struct mr_error *err)
{
	const char *own = json_string_value(json_object_get(declaration, "strategy"));

	if (job->opts->strategy)
		return make_one(job, job->opts->strategy, NULL, ret, err);
	if (own)
		return make_one(job, own, json_object_get(declaration, "program"), ret, err);
	return make_any(job, ret, err);
}

/* What means ill is left as it is: a plugin that repairs it would take its class away. */
static int pass_plugins(struct mr_input_job *job, struct mr_input *input, struct mr_error *err)
{
	mr_auto_free char *files =
		job->opts->plugins && input->value && !input->class ? mr_str_dup(job->opts->plugins)
								    : NULL;
	char *rest = files, *file;
	int r = 0;

	while (r == 0 && files && (file = strsep(&rest, ":"))) {
		mr_auto_free char *name = mr_str_format(MR_INPUT_PLUGIN "%s", file);

		if (!file[0])
			continue;
		r = mr_input_ask_plugin(job, input->strategy,
					json_object_get(job->opts->programs, name), input, err);
		if (r < 0)
			return mr_err_wrap(err, r, "%s", file);
		input->passed = true;
	}
	return r;
}

static const char *why_not_corrupt(const struct mr_input_job *job, const struct mr_input *input)
{
	if (job->opts->plain)
		return "it goes into an argument or a variable";
	if ((job->seed + job->opts->index) % 2 != 0)
		return "every second value is, and this is the other one";
	return input->absent ? "it is absent" : NULL;
}

/* What it was is no more what it is. */
static void reclassify(struct mr_input *input)
{
	input->was_class = input->class;
	input->was_id = mr_take_ptr(input->id);
	input->class = MR_INPUT_CORRUPTED;
	input->reshaped = true;
}

/* One bit of every sixteenth byte, at a place that the seed decides. */
static void corrupt(struct mr_input_job *job, struct mr_input *input)
{
	size_t at, size = 0;
	char *bytes;

	input->uncorrupted = why_not_corrupt(job, input);
	if (input->uncorrupted)
		return;
	bytes = mr_input_render(input, false, &size);
	if (size == 0) {
		input->uncorrupted = "it is empty";
		free(bytes);
		return;
	}
	json_decref(input->value);
	input->value = NULL;
	free(input->bytes);
	input->bytes = bytes;
	input->size = size;
	for (size_t from = 0; from < input->size; from += 16) {
		const size_t room = input->size - from < 16 ? input->size - from : 16;

		at = from + mr_rand_below(&job->rand, room);
		input->bytes[at] = (char)(input->bytes[at] ^ (1 << mr_rand_below(&job->rand, 8)));
		input->corrupted++;
	}
	reclassify(input);
}

int mr_input_make(const json_t *declaration, const struct mr_input_opts *opts, struct mr_input *ret,
		  struct mr_error *err)
{
	struct mr_input_job job = { .opts = opts, .seed = seed_of(opts) };
	struct mr_input input = { 0 };
	int r;

	mr_input_shape_init(declaration, &job.shape);
	r = choose(&job, declaration, &input, err);
	if (r == 0)
		r = pass_plugins(&job, &input, err);
	if (r == 0 && opts->corrupt)
		corrupt(&job, &input);
	if (r == 0)
		input.told = mr_input_judge_told(&job, declaration, &input);
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
	free(input->was_id);
	*input = (struct mr_input){ 0 };
}

/* --- telling --------------------------------------------------------------- */

const char *mr_input_why_not_plain(const char *bytes, size_t size)
{
	if (size > MR_INPUT_PLAIN_MAX)
		return "at most " STRINGIFY(MR_INPUT_PLAIN_MAX) " bytes do";
	if (memchr(bytes, '\0', size))
		return "it has a NUL byte";
	return mr_str_utf8_valid(bytes, size) ? NULL : "it is not UTF-8";
}

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

static void record_value(json_t *record, const struct mr_input *input, const char *text,
			 size_t size)
{
	char sha256[MR_HASH_HEX_SIZE];
	json_t *value;

	if (input->told == MR_INPUT_TOLD_NOTHING) {
		json_object_set_new(record, "secret", json_string("all"));
		return;
	}
	if (input->told == MR_INPUT_TOLD_OPEN_MEMBERS) {
		json_object_set_new(record, "secret", json_string("members"));
	} else {
		mr_hash_hex(text, size, sha256);
		json_object_set_new(record, "sha256", json_string(sha256));
	}
	if (size > TOLD_MAX || input->absent)
		return;
	value = input->value ? json_deep_copy(input->value) : mr_spec_bytes_json(text, size);
	if (input->told == MR_INPUT_TOLD_OPEN_MEMBERS)
		mr_input_remove_secrets(value);
	json_object_set_new(record, "value", value);
}

static void record_corruption(json_t *record, const struct mr_input *input)
{
	json_object_set_new(record, "corrupted", json_integer((json_int_t)input->corrupted));
	if (input->uncorrupted)
		json_object_set_new(record, "uncorrupted", json_string(input->uncorrupted));
	else
		json_object_set_new(record, "was",
				    json_pack("{s:s?, s:s?}", "class", input->was_class, "id",
					      input->was_id));
}

json_t *mr_input_record(const struct mr_input *input, const struct mr_input_opts *opts)
{
	size_t size;
	mr_auto_free char *text = mr_input_render(input, false, &size);
	json_t *record = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s?, s:s?, s:b, s:b, s:I}", "stub",
				   opts->stub, "step", opts->step, "strategy", input->strategy,
				   "seed", (json_int_t)opts->seed, "index", (json_int_t)opts->index,
				   "class", input->class, "id", input->id, "absent", input->absent,
				   "raw", input->bytes != NULL, "size", (json_int_t)size);

	mr_assert(record);
	if (input->passed)
		json_object_set_new(record, "plugins", json_string(opts->plugins));
	record_value(record, input, text, size);
	if (opts->corrupt)
		record_corruption(record, input);
	return record;
}
