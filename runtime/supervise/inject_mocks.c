/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure modes flaky_upstream, api_latency and schema_drift
 *
 * What answers are is decided here, before menace-netd gets them; when an answer is which one is
 * decided there, by random numbers that begin with the seed and go on with the requests of each
 * mock.  It counts, and what it counts is what is told.
 *
 * A JSON body drifts in one place: one object of it, one of its fields.  All that can be done to it
 * is done beforehand, a body for each kind.
 */
#include <stdlib.h>
#include <string.h>

#include "netns/stub_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/state.h"

#define LATENCY_DEFAULT_NS 500000000ULL
#define DRIFT_BODY_MAX (256u << 10)
#define OBJECTS_MAX 4096
#define DEPTH_MAX 64

/* --- what a mode makes of the mocks --------------------------------------------------------- */

bool mr_mocks_are_injected(struct mr_run *run)
{
	return mr_failures_find(run, MR_FAILURE_flaky_upstream) ||
	       mr_failures_find(run, MR_FAILURE_api_latency) ||
	       mr_failures_find(run, MR_FAILURE_schema_drift);
}

static void make_flaky(const struct mr_run *run, struct mr_failure *f, struct mr_mocks *mocks)
{
	static const struct {
		enum mr_mock_fault fault;
		unsigned int status;
	} kinds[] = { { MR_FAULT_STATUS, 503 }, { MR_FAULT_RESET, 0 }, { MR_FAULT_TIMEOUT, 0 } };
	bool *ours = mr_str_alloc((mocks->n + 1) * sizeof(*ours));

	f->state = ours;
	for (size_t i = 0; i < mocks->n; i++) {
		struct mr_mock *mock = &mocks->v[i];
		const size_t kind = mr_rand_below(&f->rand, N_ELEMENTS(kinds));

		if (mock->fault != MR_FAULT_NONE)
			continue;
		ours[i] = true;
		mock->fault = kinds[kind].fault;
		mock->fault_status = kinds[kind].status;
		mock->fail_of = (uint32_t)run->spec->failure_upstream_failures;
		mock->fail_round = (uint32_t)run->spec->failure_upstream_requests;
	}
}

/* --- a JSON body in other forms --------------------------------------------------------------- */

struct objects {
	json_t *v[OBJECTS_MAX]; /* that have a field */
	size_t n;
};

static void find_objects(json_t *value, unsigned int depth, struct objects *ret)
{
	const char *key;
	json_t *child;
	size_t i;

	if (depth > DEPTH_MAX)
		return;
	if (json_object_size(value) > 0 && ret->n < OBJECTS_MAX)
		ret->v[ret->n++] = value;
	json_object_foreach (value, key, child)
		find_objects(child, depth + 1, ret);
	json_array_foreach (value, i, child)
		find_objects(child, depth + 1, ret);
}

static const char *choose_field(struct mr_rand *rand, json_t *object)
{
	uint64_t at = mr_rand_below(rand, json_object_size(object));
	void *iter = json_object_iter(object);

	while (at-- > 0)
		iter = json_object_iter_next(object, iter);
	return json_object_iter_key(iter);
}

static void rename_field(json_t *object, const char *field)
{
	mr_auto_free char *name = mr_str_format("%s_v2", field);
	mr_auto_json json_t *value = json_incref(json_object_get(object, field));

	json_object_del(object, field);
	json_object_set(object, name, value);
}

static void drop_field(json_t *object, const char *field)
{
	json_object_del(object, field);
}

static void retype_field(json_t *object, const char *field)
{
	const json_t *value = json_object_get(object, field);
	mr_auto_free char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	json_t *other;

	mr_assert(text);
	if (json_is_string(value))
		other = json_integer((json_int_t)json_string_length(value));
	else if (json_is_array(value))
		other = json_object();
	else if (json_is_object(value))
		other = json_array();
	else
		other = json_string(text);
	json_object_set_new(object, field, other);
}

static void add_field(json_t *object, const char *field)
{
	mr_auto_free char *name = mr_str_format("unknown_%s", field);

	json_object_set_new(object, name, json_true());
}

/* The body after one change, malloc'd; NULL: there is nothing to change. */
static char *drift(struct mr_rand *rand, const struct mr_mock *mock,
		   void (*change)(json_t *object, const char *field), size_t *ret_size)
{
	mr_auto_json json_t *body = json_loadb(mock->body, mock->body_size, 0, NULL);
	mr_auto_free struct objects *objects = mr_str_alloc(sizeof(*objects));
	mr_auto_free char *field = NULL;
	json_t *object;
	char *text;

	find_objects(body, 0, objects);
	if (objects->n == 0)
		return NULL;
	object = objects->v[mr_rand_below(rand, objects->n)];
	field = mr_str_dup(choose_field(rand, object));
	change(object, field);
	text = json_dumps(body, JSON_COMPACT);
	mr_assert(text);
	*ret_size = strlen(text);
	return text;
}

static void make_drift(const struct mr_run *run, struct mr_failure *f, struct mr_mocks *mocks)
{
	static void (*const changes[MR_MOCK_DRIFTS])(json_t *,
						     const char *) = { rename_field, drop_field,
								       retype_field, add_field };

	for (size_t i = 0; i < mocks->n; i++) {
		struct mr_mock *mock = &mocks->v[i];

		if (!mock->body || mock->body_size > DRIFT_BODY_MAX)
			continue;
		for (size_t j = 0; j < MR_MOCK_DRIFTS; j++)
			mock->drifts[j] = drift(&f->rand, mock, changes[j], &mock->drift_sizes[j]);
		mock->drift_of = (uint32_t)run->spec->failure_schema_mismatches;
		mock->drift_round = (uint32_t)run->spec->failure_schema_checks;
	}
}

void mr_inject_into_mocks(struct mr_run *run, struct mr_mocks *mocks, struct mr_stub_config *config)
{
	struct mr_failure *f = mr_failures_find(run, MR_FAILURE_flaky_upstream);

	if (f)
		make_flaky(run, f, mocks);
	f = mr_failures_find(run, MR_FAILURE_schema_drift);
	if (f)
		make_drift(run, f, mocks);
	if (!mr_failures_find(run, MR_FAILURE_api_latency))
		return;
	config->punctual_percent = 100 - run->spec->failure_intensity;
	if (!config->delay_ns)
		config->delay_ns = LATENCY_DEFAULT_NS;
}

/* --- what was counted ----------------------------------------------------------------------- */

static const struct mr_stub_count *counts_of(const struct mr_run *run, struct mr_failure *f,
					     size_t *ret_n)
{
	const struct mr_stub_count *counts = mr_canned_counts(run, ret_n);
	struct mr_error err = MR_ERROR_INIT;

	if (counts)
		return counts;
	*ret_n = 0;
	mr_err(&err, MR_E_PROTO, 0, "what answers did not tell how often");
	mr_failure_excuse(f, &err);
	return NULL;
}

static void count_flaky(struct mr_run *run, struct mr_failure *f)
{
	const bool *ours = f->state;
	size_t n;
	const struct mr_stub_count *counts = counts_of(run, f, &n);

	for (size_t i = 0; i < n; i++) {
		if (!ours[i])
			continue;
		f->opportunities += counts[i].hits;
		f->fired += counts[i].failures;
	}
}

static void free_flaky(struct mr_run *run, struct mr_failure *f)
{
	(void)run;
	free(f->state);
}

static void count_late(struct mr_run *run, struct mr_failure *f)
{
	size_t n;
	const struct mr_stub_count *counts = counts_of(run, f, &n);

	for (size_t i = 0; i < n; i++) {
		f->opportunities += counts[i].late + counts[i].punctual;
		f->fired += counts[i].late;
		f->amount += counts[i].late_ns;
	}
}

static void count_drifts(struct mr_run *run, struct mr_failure *f)
{
	size_t n;
	const struct mr_stub_count *counts = counts_of(run, f, &n);

	for (size_t i = 0; i < n; i++) {
		f->opportunities += counts[i].checks;
		f->fired += counts[i].drifts;
	}
}

const struct mr_injector mr_inject_flaky_upstream = {
	.mode = MR_FAILURE_flaky_upstream,
	.count = count_flaky,
	.free = free_flaky,
};

const struct mr_injector mr_inject_api_latency = {
	.mode = MR_FAILURE_api_latency,
	.unit = "ns",
	.count = count_late,
};

const struct mr_injector mr_inject_schema_drift = {
	.mode = MR_FAILURE_schema_drift,
	.count = count_drifts,
};
