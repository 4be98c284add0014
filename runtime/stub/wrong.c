/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies that mean ill
 *
 * hostile, misuse, legacy_schema and flaky_upstream.  Successive indices go through kinds and classes in
 * turn, from one that the seed decides, so that as many values as there are classes meet each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/spec/hostile.h"
#include "runtime/stub/internal.h"

/* --- hostile --------------------------------------------------------------- */

static bool row_fits(const struct mr_input_job *job, const struct mr_hostile *row)
{
	mr_auto_free char *bytes = NULL;
	size_t size;

	if (!job->opts->plain)
		return true;
	bytes = mr_hostile_build(row, &size);
	return mr_input_why_not_plain(bytes, size) == NULL;
}

static void shuffle(struct mr_rand *rand, struct mr_hostile *v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		const size_t at = mr_rand_below(rand, i);
		const struct mr_hostile row = v[i - 1];

		v[i - 1] = v[at];
		v[at] = row;
	}
}

/* How many of the same class stand before it. */
static size_t rank_of(const struct mr_hostile *v, size_t i)
{
	size_t rank = 0;

	for (size_t k = 0; k < i; k++)
		rank += strcmp(v[k].class, v[i].class) == 0;
	return rank;
}

/* The shipped ones and those of the options, as far as they go where this one has to.  Texts are borrowed. */
static size_t collect(const struct mr_input_job *job, struct mr_hostile **ret)
{
	size_t n_shipped, n = 0;
	const struct mr_hostile *shipped = mr_hostile_rows(&n_shipped);
	const size_t n_own = json_array_size(job->opts->payloads);
	struct mr_hostile *v = mr_str_alloc((n_shipped + n_own) * sizeof(*v));

	for (size_t i = 0; i < n_shipped; i++)
		if (row_fits(job, &shipped[i]))
			v[n++] = shipped[i];
	for (size_t i = 0; i < n_own; i++) {
		const json_t *own = json_array_get(job->opts->payloads, i);
		const json_t *value = json_object_get(own, "value");
		const struct mr_hostile row = {
			.id = json_string_value(json_object_get(own, "id")),
			.class = MR_INPUT_OWN,
			.head = json_string_value(value),
			.head_size = json_string_length(value),
			.tail = "",
			.n = 1,
		};

		if (row_fits(job, &row))
			v[n++] = row;
	}
	*ret = v;
	return n;
}

/* The payload of an index: shuffled by the seed alone, then one of each class, one of each again. */
static struct mr_hostile choose_payload(const struct mr_input_job *job)
{
	mr_auto_free struct mr_hostile *v = NULL;
	mr_auto_free size_t *ranks = NULL;
	const size_t n = collect(job, &v);
	size_t at, seen = 0;
	struct mr_rand rand;

	mr_assert(n > 0);
	mr_rand_init(&rand, job->seed);
	shuffle(&rand, v, n);
	ranks = mr_str_alloc(n * sizeof(*ranks));
	for (size_t i = 0; i < n; i++)
		ranks[i] = rank_of(v, i);
	at = job->opts->index % n;
	for (size_t rank = 0;; rank++)
		for (size_t i = 0; i < n; i++)
			if (ranks[i] == rank && seen++ == at)
				return v[i];
}

/* What a parameter takes: the number it spells, or the text. */
static json_t *as_value(const char *bytes, size_t size)
{
	json_t *value = json_loadb(bytes, size, JSON_DECODE_ANY, NULL);

	if (json_is_number(value))
		return value;
	json_decref(value);
	return json_stringn(bytes, size);
}

int mr_input_hostile(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	static const char *const whole[] = { "structure", "type", "nothing" };
	const struct mr_hostile row = choose_payload(job);
	size_t size;
	mr_auto_free char *bytes = mr_hostile_build(&row, &size);
	bool instead = job->shape.scalar || job->shape.n == 0 || !mr_str_utf8_valid(bytes, size);
	const char *field;

	(void)err;
	for (size_t i = 0; i < N_ELEMENTS(whole); i++)
		instead = instead || strcmp(row.class, whole[i]) == 0;
	ret->class = row.class;
	if (instead) {
		ret->id = mr_str_dup(row.id);
		ret->bytes = mr_take_ptr(bytes);
		ret->size = size;
		return 0;
	}
	field = job->shape.params[mr_rand_below(&job->rand, job->shape.n)].name;
	ret->id = mr_str_format("%s:%s", row.id, field);
	ret->value = mr_input_base(job);
	if (!json_is_object(ret->value)) {
		json_decref(ret->value);
		ret->value = json_object();
	}
	json_object_set_new(ret->value, field, as_value(bytes, size));
	if (!mr_input_fits(job, ret->value)) { /* a run of text, and what is around it */
		json_object_clear(ret->value);
		json_object_set_new(ret->value, field, as_value(bytes, size));
	}
	return 0;
}

/* --- misuse ---------------------------------------------------------------- */

static json_t *wrong_type(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return json_integer(123);
	case JSON_INTEGER:
	case JSON_REAL:
		return json_string("not_a_number");
	case JSON_TRUE:
	case JSON_FALSE:
		return json_string("not_a_bool");
	case JSON_ARRAY:
		return json_object();
	case JSON_OBJECT:
		return json_array();
	case JSON_NULL:
		break;
	}
	return json_string("not_null");
}

/* Each value under the name that comes after its own. */
static json_t *rotate(const struct mr_input_shape *shape, const json_t *value)
{
	json_t *rotated = json_object();

	for (size_t i = 0; i < shape->n; i++)
		json_object_set(rotated, shape->params[(i + 1) % shape->n].name,
				json_object_get(value, shape->params[i].name));
	return rotated;
}

static void misuse_scalar(struct mr_input *ret, size_t kind)
{
	static const char *const classes[] = { "wrong-type", "missing", "extra", "null" };
	json_t *value = ret->value;

	ret->class = classes[kind % N_ELEMENTS(classes)];
	ret->id = mr_str_dup(ret->class);
	ret->value = NULL;
	switch (kind % N_ELEMENTS(classes)) {
	case 0:
		ret->value = wrong_type(value);
		break;
	case 1:
		ret->absent = true;
		break;
	case 2:
		ret->value = json_pack("[O, O]", value, value);
		break;
	default:
		ret->value = json_null();
	}
	json_decref(value);
}

static void misuse_object(const struct mr_input_job *job, struct mr_input *ret, size_t kind,
			  const char *field)
{
	static const char *const classes[] = { "wrong-type", "missing", "extra", "null",
					       "wrong-order" };
	json_t *value = ret->value;

	kind %= N_ELEMENTS(classes);
	if (kind == 4 && job->shape.n < 2)
		kind = 0;
	ret->class = classes[kind];
	ret->id = mr_str_format("%s:%s", classes[kind], field);
	switch (kind) {
	case 0:
		json_object_set_new(value, field, wrong_type(json_object_get(value, field)));
		break;
	case 1:
		json_object_del(value, field);
		break;
	case 2:
		json_object_set_new(value, "unexpected_argument", json_integer(123));
		break;
	case 3:
		json_object_set_new(value, field, json_null());
		break;
	default:
		ret->value = rotate(&job->shape, value);
		ret->reshaped = true;
		json_decref(value);
	}
}

int mr_input_misuse(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	const size_t kind = (size_t)((job->seed + job->opts->index) % 20); /* of 4 and of 5 */
	const char *field;

	(void)err;
	ret->value = mr_input_base(job);
	if (!json_is_object(ret->value) || job->shape.scalar || job->shape.n == 0) {
		misuse_scalar(ret, kind);
		return 0;
	}
	field = job->shape.params[mr_rand_below(&job->rand, job->shape.n)].name;
	if (!json_object_get(ret->value, field)) /* this template has it not */
		json_object_set_new(ret->value, field, json_null());
	misuse_object(job, ret, kind, field);
	return 0;
}

/* --- legacy_schema --------------------------------------------------------- */

/* user_id is userId, userId is user_id, and what is neither is old_NAME. */
static char *old_name(const char *name)
{
	mr_auto_free char *made = mr_str_alloc(2 * strlen(name) + 1);
	size_t n = 0;

	for (size_t i = 0; name[i]; i++) {
		if (name[i] == '_' && i > 0 && name[i + 1] >= 'a' && name[i + 1] <= 'z') {
			made[n++] = (char)(name[++i] - 'a' + 'A');
		} else if (name[i] >= 'A' && name[i] <= 'Z' && i > 0) {
			made[n++] = '_';
			made[n++] = (char)(name[i] - 'A' + 'a');
		} else {
			made[n++] = name[i];
		}
	}
	return strcmp(made, name) == 0 ? mr_str_format("old_%s", name) : mr_take_ptr(made);
}

static int compare_keys(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* By its place among the names in order, however the document was written. */
static const char *choose_key(struct mr_rand *rand, json_t *object)
{
	mr_auto_free const char **keys = mr_str_alloc(json_object_size(object) * sizeof(*keys));
	const char *key;
	json_t *value;
	size_t n = 0;

	json_object_foreach (object, key, value)
		keys[n++] = key;
	qsort(keys, n, sizeof(*keys), compare_keys);
	return keys[mr_rand_below(rand, n)];
}

static json_t *retype(const json_t *value)
{
	mr_auto_free char *text =
		json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);

	mr_assert(text);
	if (json_is_string(value))
		return json_pack("[O]", (json_t *)(uintptr_t)value);
	return json_string(text);
}

static const char *change_field(json_t *record, const char *field, size_t kind)
{
	mr_auto_json json_t *value = json_incref(json_object_get(record, field));
	mr_auto_free char *other = NULL;

	switch (kind % 3) {
	case 0:
		other = old_name(field);
		json_object_del(record, field);
		json_object_set(record, other, value);
		return "renamed";
	case 1:
		json_object_del(record, field);
		return "removed";
	default:
		json_object_set_new(record, field, retype(value));
		return "retyped";
	}
}

int mr_input_legacy_schema(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	const size_t kind = (size_t)((job->seed + job->opts->index) % 3);
	mr_auto_free char *field = NULL;
	json_t *record, *value;

	(void)err;
	ret->value = value = mr_input_base(job);
	ret->reshaped = true;
	record = value;
	if (json_array_size(value) > 0) /* a list of records: one of them */
		record = json_array_get(value, mr_rand_below(&job->rand, json_array_size(value)));
	if (json_object_size(record) == 0) {
		ret->class = "retyped";
		ret->id = mr_str_dup("retyped");
		ret->value = retype(value);
		json_decref(value);
		return 0;
	}
	field = mr_str_dup(choose_key(&job->rand, record));
	ret->class = change_field(record, field, kind);
	ret->id = mr_str_format("%s:%s", ret->class, field);
	return 0;
}

/* --- flaky_upstream -------------------------------------------------------- */

static const struct answer {
	const char *class, *id, *text; /* NULL: the first half of a good one */
} answers[] = {
	{ "error", "status-503",
	  "{\"error\":{\"message\":\"Service Unavailable\",\"status\":503}}" },
	{ "timeout", "timed-out",
	  "{\"error\":{\"message\":\"upstream timed out\",\"status\":504}}" },
	{ "partial", "half", NULL },
	{ "error", "status-429",
	  "{\"error\":{\"message\":\"Too Many Requests\",\"retry_after\":30,\"status\":429}}" },
	{ "nothing", "empty", "" },
	{ "error", "gateway-page", "<html><body><h1>502 Bad Gateway</h1></body></html>" },
};

int mr_input_flaky_upstream(struct mr_input_job *job, struct mr_input *ret, struct mr_error *err)
{
	const struct answer *answer =
		&answers[(job->seed + job->opts->index) % N_ELEMENTS(answers)];
	mr_auto_json json_t *good = NULL;

	(void)err;
	ret->class = answer->class;
	ret->id = mr_str_dup(answer->id);
	if (answer->text) {
		ret->bytes = mr_str_dup(answer->text);
		ret->size = strlen(answer->text);
		return 0;
	}
	good = mr_input_base(job);
	ret->reshaped = true;
	ret->bytes = json_dumps(good, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY |
					      JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
	mr_assert(ret->bytes);
	ret->size = strlen(ret->bytes) / 2;
	ret->bytes[ret->size] = '\0';
	return 0;
}
