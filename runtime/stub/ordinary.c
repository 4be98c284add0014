/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies that mean well
 *
 * templates, signature, smart, history, failures and random.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/spec/bytes.h"
#include "runtime/stub/internal.h"

#define HISTORY_MAX 50
#define FAILURES_MAX 10

static const char *const words[] = {
	"amber",  "basil",  "cedar",  "delta", "ember",	 "fable",  "grove",  "harbor",
	"indigo", "jasper", "kernel", "lumen", "meadow", "nectar", "orchid", "pepper",
};
static const char *const people[] = {
	"Ada Byron",	"Blaise Pascal", "Carl Gauss",	 "Dorothy Vaughan",
	"Emmy Noether", "Felix Klein",	 "Grace Hopper", "Henri Cartan",
};

static const char *pick(struct mr_rand *rand, const char *const *list, size_t n)
{
	return list[mr_rand_below(rand, n)];
}

const char *mr_input_why_unfit(const struct mr_input_job *job, const struct mr_input *input,
			       size_t *ret_size)
{
	mr_auto_free char *text = NULL;
	const char *why;
	size_t size = 0;

	if (!job->opts->plain)
		return NULL;
	text = mr_input_render(input, false, &size);
	why = mr_input_why_not_plain(text, size);
	if (why && ret_size)
		*ret_size = size;
	return why;
}

bool mr_input_fits(const struct mr_input_job *job, json_t *value)
{
	const struct mr_input input = { .value = value };

	return mr_input_why_unfit(job, &input, NULL) == NULL;
}

/* A value of an array, or a row of the history, whose value may be bytes in another spelling. */
static bool row_fits(const struct mr_input_job *job, json_t *row, bool of_history)
{
	mr_cleanup(mr_input_deinit) struct mr_input input = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_json root = mr_json_root(json_object_get(row, "value"), "value in the store");

	if (!of_history || !json_is_true(json_object_get(row, "raw")))
		return mr_input_fits(job, of_history ? root.value : row);
	return mr_spec_get_bytes(&root, &input.bytes, &input.size, &err) == 0 &&
	       mr_input_why_unfit(job, &input, NULL) == NULL;
}

/* One of those that go there: of an array, or of rows of history that have a mark.  Borrowed, or NULL. */
static json_t *pick_fitting(struct mr_input_job *job, const json_t *array, const char *mark,
			    size_t max)
{
	mr_auto_free json_t **fitting =
		mr_str_alloc((json_array_size(array) + 1) * sizeof(json_t *));
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(array) && n < max; i++) {
		json_t *row = json_array_get(array, i);

		if ((!mark || json_is_true(json_object_get(row, mark))) && row_fits(job, row, mark))
			fitting[n++] = row;
	}
	return n > 0 ? fitting[mr_rand_below(&job->rand, n)] : NULL;
}

int mr_input_templates(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	json_t *template = pick_fitting(job, job->shape.templates, NULL, SIZE_MAX);

	if (!template && json_array_size(job->shape.templates) == 0)
		return -mr_err(err, MR_E_USAGE, ENODATA,
			       "the strategy templates: none is declared");
	if (!template)
		return -mr_err(err, MR_E_USAGE, ENODATA,
			       "the strategy templates: none of its %zu goes into an argument or a "
			       "variable, where it is used: at most %d bytes without a NUL do",
			       json_array_size(job->shape.templates), MR_INPUT_PLAIN_MAX);
	ret->value = json_deep_copy(template);
	return 0;
}

/* It is still what it was made as. */
static int replay(const json_t *row, struct mr_input *ret, const char *why, struct mr_error *err)
{
	struct mr_json root = mr_json_root(json_object_get(row, "value"), "value in the store");
	const char *id = json_string_value(json_object_get(row, "payload"));

	if (!row)
		return -mr_err(err, MR_E_USAGE, ENODATA, "%s", why);
	ret->class = json_string_value(json_object_get(row, "class"));
	ret->id = id ? mr_str_dup(id) : NULL;
	if (json_is_true(json_object_get(row, "raw")))
		return mr_spec_get_bytes(&root, &ret->bytes, &ret->size, err);
	ret->value = json_deep_copy(root.value);
	return 0;
}

static bool is_any(const json_t *history, const char *mark)
{
	for (size_t i = 0; i < json_array_size(history); i++)
		if (json_is_true(json_object_get(json_array_get(history, i), mark)))
			return true;
	return false;
}

int mr_input_history(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	return replay(pick_fitting(job, job->opts->history, "ordinary", HISTORY_MAX), ret,
		      is_any(job->opts->history, "ordinary")
			      ? "the strategy history: no value of it in the store goes into an "
				"argument or a variable, where it is used"
			      : "the strategy history: the store has no value of it yet",
		      err);
}

int mr_input_failures(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	return replay(pick_fitting(job, job->opts->history, "failed", FAILURES_MAX), ret,
		      is_any(job->opts->history, "failed")
			      ? "the strategy failures: no value with which a step failed goes "
				"into an argument or a variable, where it is used"
			      : "the strategy failures: the store has no value of it with which "
				"a step failed",
		      err);
}

/* --- by type --------------------------------------------------------------- */

/* A value for each parameter; an object, or the one value. */
static json_t *make_each(struct mr_input_job *job,
			 json_t *(*make)(struct mr_input_job *job, const struct mr_input_param *p))
{
	json_t *object;

	if (job->shape.scalar)
		return make(job, &job->shape.params[0]);
	object = json_object();
	for (size_t i = 0; i < job->shape.n; i++)
		json_object_set_new(object, job->shape.params[i].name,
				    make(job, &job->shape.params[i]));
	return object;
}

static json_t *empty_value(struct mr_input_job *job, const struct mr_input_param *param)
{
	(void)job;
	if (param->fallback)
		return json_deep_copy(param->fallback);
	switch (param->type) {
	case MR_INPUT_STR:
		return json_string("");
	case MR_INPUT_INT:
		return json_integer(0);
	case MR_INPUT_FLOAT:
		return json_real(0);
	case MR_INPUT_BOOL:
		return json_false();
	case MR_INPUT_LIST:
		return json_array();
	case MR_INPUT_DICT:
		return json_object();
	case MR_INPUT_DATETIME:
	case MR_INPUT_ANY:
	case MR_INPUT_TYPES:
		break;
	}
	return json_null();
}

int mr_input_signature(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	(void)err;
	ret->value = make_each(job, empty_value);
	return 0;
}

static json_t *smart_text(struct mr_rand *rand, const char *name)
{
	const char *word = pick(rand, words, N_ELEMENTS(words));

	if (strcasestr(name, "email"))
		return json_sprintf("%s%u@example.com", word,
				    (unsigned int)mr_rand_below(rand, 100));
	if (strcasestr(name, "url"))
		return json_sprintf("https://example.com/%s", word);
	if (strcasestr(name, "name"))
		return json_string(pick(rand, people, N_ELEMENTS(people)));
	return json_string(word);
}

/* 2000-01-01 to 2029-12-28. */
static json_t *some_time(struct mr_rand *rand)
{
	unsigned int v[6];
	static const unsigned int ranges[6] = { 30, 12, 28, 24, 60, 60 };

	for (size_t i = 0; i < N_ELEMENTS(v); i++)
		v[i] = (unsigned int)mr_rand_below(rand, ranges[i]);
	return json_sprintf("%04u-%02u-%02uT%02u:%02u:%02uZ", 2000 + v[0], v[1] + 1, v[2] + 1, v[3],
			    v[4], v[5]);
}

json_t *mr_input_smart_value(struct mr_input_job *job, const struct mr_input_param *param)
{
	/* A stub that is one value is called what the stub is called. */
	const char *name = job->shape.scalar ? job->opts->stub : param->name;

	switch (param->type) {
	case MR_INPUT_STR:
	case MR_INPUT_ANY:
	case MR_INPUT_TYPES:
		break;
	case MR_INPUT_INT:
		return json_integer((json_int_t)mr_rand_below(&job->rand, 1001));
	case MR_INPUT_FLOAT:
		return json_real((double)(1 + mr_rand_below(&job->rand, 9999)) / 100);
	case MR_INPUT_BOOL:
		return json_boolean(mr_rand_below(&job->rand, 2));
	case MR_INPUT_LIST:
		return json_pack("[s]", pick(&job->rand, words, N_ELEMENTS(words)));
	case MR_INPUT_DICT:
		return json_pack("{s:s}", "key", pick(&job->rand, words, N_ELEMENTS(words)));
	case MR_INPUT_DATETIME:
		return some_time(&job->rand);
	}
	return smart_text(&job->rand, name);
}

int mr_input_smart(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	(void)err;
	ret->value = make_each(job, mr_input_smart_value);
	return 0;
}

json_t *mr_input_base(struct mr_input_job *job)
{
	json_t *template = pick_fitting(job, job->shape.templates, NULL, SIZE_MAX);

	return template ? json_deep_copy(template) : make_each(job, mr_input_smart_value);
}

/* --- random ---------------------------------------------------------------- */

static json_t *random_text(struct mr_rand *rand)
{
	char text[65];
	const size_t n = mr_rand_below(rand, sizeof(text));

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(' ' + mr_rand_below(rand, 95));
	text[n] = '\0';
	return json_string(text);
}

/* Each draw is a statement of its own: the order of arguments is the compiler's. */
static json_t *random_number(struct mr_rand *rand, bool whole)
{
	const uint64_t bits = mr_rand_next(rand);
	const unsigned int less = (unsigned int)mr_rand_below(rand, 64);

	if (whole)
		return json_integer((json_int_t)(bits >> less));
	return json_real(ldexp((double)(int64_t)bits, (int)less - 32));
}

static json_t *random_list(struct mr_rand *rand)
{
	json_t *list = json_array();

	json_array_append_new(list, random_text(rand));
	json_array_append_new(list, random_text(rand));
	return list;
}

static json_t *random_dict(struct mr_rand *rand)
{
	json_t *dict = json_object();
	const char *key = pick(rand, words, N_ELEMENTS(words));

	json_object_set_new(dict, key, random_text(rand));
	return dict;
}

static json_t *random_value(struct mr_input_job *job, const struct mr_input_param *param)
{
	struct mr_rand *rand = &job->rand;

	switch (param->type) {
	case MR_INPUT_INT:
	case MR_INPUT_FLOAT:
		return random_number(rand, param->type == MR_INPUT_INT);
	case MR_INPUT_BOOL:
		return json_boolean(mr_rand_below(rand, 2));
	case MR_INPUT_LIST:
		return random_list(rand);
	case MR_INPUT_DICT:
		return random_dict(rand);
	case MR_INPUT_DATETIME:
		return some_time(rand);
	case MR_INPUT_STR:
	case MR_INPUT_ANY:
	case MR_INPUT_TYPES:
		break;
	}
	return random_text(rand);
}

static int take_range(struct mr_rand *rand, const struct mr_json *range, json_t *value,
		      struct mr_error *err)
{
	const json_t *low = json_array_get(range->value, 0),
		     *high = json_array_get(range->value, 1);

	if (!json_is_integer(low) || !json_is_integer(high) ||
	    json_integer_value(low) > json_integer_value(high) ||
	    json_integer_value(high) > INT32_MAX || json_integer_value(low) < INT32_MIN)
		return mr_json_err(range, err, "two whole numbers are wanted, the lower one first");
	json_object_set_new(value, "level",
			    json_integer(
				    json_integer_value(low) +
				    (json_int_t)mr_rand_below(rand,
							      (uint64_t)(json_integer_value(high) -
									 json_integer_value(low) +
									 1))));
	return 0;
}

/* {"modes": [...], "level_range": [a, b], "flags": [...], "flag_prob": p} */
static int from_config(struct mr_input_job *job, json_t **ret, struct mr_error *err)
{
	static const char *const keys[] = { "modes", "level_range", "flags", "flag_prob", NULL };
	const char *text = job->opts->random_config;
	mr_auto_json json_t *config = NULL;
	mr_auto_json json_t *value = json_object();
	struct mr_json root, member;
	const char *flag;
	double chance;
	int r = mr_json_parse(text, strlen(text), "SANDBOX_STUB_RANDOM_CONFIG", &config, err);

	if (r < 0)
		return r;
	root = mr_json_root(config, "SANDBOX_STUB_RANDOM_CONFIG");
	r = mr_json_want_object(&root, err);
	if (r == 0)
		r = mr_json_check_keys(&root, keys, err);
	if (r == 0 && mr_json_member(&root, "modes", &member) && json_array_size(member.value) > 0)
		json_object_set(value, "mode",
				json_array_get(member.value,
					       mr_rand_below(&job->rand,
							     json_array_size(member.value))));
	if (r == 0 && mr_json_member(&root, "level_range", &member))
		r = take_range(&job->rand, &member, value, err);
	chance = json_number_value(json_object_get(config, "flag_prob"));
	if (r == 0 && (chance < 0 || chance > 1))
		return mr_json_err(&root, err, "flag_prob is from 0 to 1");
	for (size_t i = 0; r == 0 && i < json_array_size(json_object_get(config, "flags")); i++) {
		flag = json_string_value(json_array_get(json_object_get(config, "flags"), i));
		if (flag)
			json_object_set_new(value, flag,
					    json_boolean(
						    mr_rand_chance(&job->rand,
								   (unsigned int)(chance * 1000))));
	}
	if (r == 0)
		*ret = json_incref(value);
	return r;
}

/* What was seen of a stub that nothing is declared of; NULL: it was never an object. */
static json_t *aggregate_history(const json_t *history)
{
	mr_auto_json json_t *values = json_array();

	for (size_t i = 0; i < json_array_size(history) && json_array_size(values) < HISTORY_MAX;
	     i++) {
		const json_t *row = json_array_get(history, i);
		json_t *value = json_object_get(row, "value");

		if (json_object_size(value) > 0 && json_is_true(json_object_get(row, "ordinary")))
			json_array_append(values, value);
	}
	return json_array_size(values) > 0 ? mr_input_aggregate(values) : NULL;
}

int mr_input_random(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	if (job->opts->random_config && job->opts->random_config[0])
		return from_config(job, &ret->value, err);
	if (job->shape.undeclared)
		ret->value = aggregate_history(job->opts->history);
	if (!ret->value)
		ret->value = make_each(job, random_value);
	return 0;
}

/* --- all together ---------------------------------------------------------- */

/* The most frequent of the values of a key, the earliest of equals; borrowed. */
static json_t *most_frequent(const json_t *values, const char *key)
{
	json_t *best = NULL;
	size_t best_n = 0;

	for (size_t i = 0; i < json_array_size(values); i++) {
		json_t *value = json_object_get(json_array_get(values, i), key);
		size_t n = 0;

		for (size_t k = 0; value && k < json_array_size(values); k++) {
			json_t *other = json_object_get(json_array_get(values, k), key);

			n += other && json_equal(value, other);
		}
		if (n > best_n) {
			best = value;
			best_n = n;
		}
	}
	return best;
}

static json_t *aggregate_key(const json_t *values, const char *key)
{
	bool numbers = true, whole = true;
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(values); i++) {
		const json_t *value = json_object_get(json_array_get(values, i), key);

		if (!value)
			continue;
		numbers = numbers && json_is_number(value);
		whole = whole && json_is_integer(value);
		sum += json_number_value(value);
		n++;
	}
	if (!numbers || n == 0)
		return json_incref(most_frequent(values, key));
	sum /= (double)n;
	return whole ? json_integer((json_int_t)llround(sum)) : json_real(sum);
}

json_t *mr_input_aggregate(const json_t *values)
{
	json_t *all = json_object();
	const char *key;
	json_t *value;

	for (size_t i = 0; i < json_array_size(values); i++)
		json_object_foreach (json_array_get(values, i), key, value)
			if (!json_object_get(all, key))
				json_object_set_new(all, key, aggregate_key(values, key));
	return all;
}
