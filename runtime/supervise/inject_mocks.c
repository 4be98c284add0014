/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure modes flaky_upstream, api_latency and schema_drift
 *
 * What answers are is decided here, before menace-netd gets them; when an answer is which one is
 * decided there, by random numbers that begin with the seed and go on with the requests of each
 * mock.  It counts, and what it counts is what is told.
 *
 * A JSON body drifts in one place: one object of it, one of its fields.  A damaged one, of any kind, has
 * one bit that is another or lacks its end.  All that can be done to it is done beforehand, a body for each kind.
 *
 * Where credentials are refused, what the request hands over as one is empty, too.
 */
#include <stdlib.h>
#include <string.h>

#include "netns/stub_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/secret.h"
#include "runtime/base/str.h"
#include "runtime/launch/launch.h"
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

/* How a request fails: in one way with each mock. */
static const struct flaw {
	enum mr_mock_fault fault;
	unsigned int status;
} flaws[] = {
	{ MR_FAULT_STATUS, 503 }, { MR_FAULT_RESET, 0 },
	{ MR_FAULT_TIMEOUT, 0 },  { MR_FAULT_AUTH, 0 }, /* what follows is the part broken_auth */
	{ MR_FAULT_STATUS, 403 },
};
#define FLAW_AUTH 3

struct flaky {
	bool *ours; /* of each mock: it fails by us */
	struct mr_spec spec; /* what is launched, with emptied credentials */
	json_t *credentials; /* their names; NULL: none was looked for */
};

static struct flaky *flaky_of(struct mr_failure *f)
{
	if (!f->state)
		f->state = mr_str_alloc(sizeof(struct flaky));
	return f->state;
}

static void make_flaky(const struct mr_run *run, struct mr_failure *f, struct mr_mocks *mocks)
{
	const bool auth = run->spec->failure_broken_auth;
	const size_t first =
		mr_spec_names_failure(run->spec, MR_FAILURE_flaky_upstream) ? 0 : FLAW_AUTH;
	const size_t n = (auth ? N_ELEMENTS(flaws) : FLAW_AUTH) - first;
	bool *ours = mr_str_alloc((mocks->n + 1) * sizeof(*ours));

	flaky_of(f)->ours = ours;
	for (size_t i = 0; i < mocks->n; i++) {
		struct mr_mock *mock = &mocks->v[i];
		const struct flaw *flaw = &flaws[first + mr_rand_below(&f->rand, n)];

		if (mock->fault != MR_FAULT_NONE)
			continue;
		ours[i] = true;
		mock->fault = flaw->fault;
		mock->fault_status = flaw->status;
		mock->fail_of = (uint32_t)run->spec->failure_upstream_failures;
		mock->fail_round = (uint32_t)run->spec->failure_upstream_requests;
	}
}

/* --- credentials of the request --------------------------------------------------------------- */

/* "NAME=VALUE" becomes "NAME=". */
static void empty_variable(struct flaky *flaky, char *assignment)
{
	const size_t n = strcspn(assignment, "=");
	mr_auto_free char *name = mr_str_ndup(assignment, n);

	if (assignment[n] == '\0' || assignment[n + 1] == '\0' || !mr_secret_is_name(name))
		return;
	assignment[n + 1] = '\0';
	json_array_append_new(flaky->credentials,
			      mr_str_utf8_valid(name, n) ? json_string(name) : json_null());
}

/* What the caller hands on is from here on set by the request, which comes last. */
static void take_over(const char *name, struct mr_strv *env)
{
	mr_auto_free char *assignment = NULL;
	const char *value = getenv(name);

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], name, strlen(name)) == 0 && env->v[i][strlen(name)] == '=')
			return;
	if (!value)
		return;
	assignment = mr_str_format("%s=%s", name, value);
	mr_strv_add(env, assignment);
}

void mr_inject_credentials(struct mr_run *run, struct mr_launch_opts *opts)
{
	struct mr_failure *f = mr_failures_find(run, MR_FAILURE_flaky_upstream);
	struct flaky *flaky;

	if (!f || !run->spec->failure_broken_auth)
		return;
	flaky = flaky_of(f);
	flaky->credentials = json_array();
	mr_spec_copy(&flaky->spec, opts->spec);
	for (size_t i = 0; i < flaky->spec.env_pass.n; i++)
		take_over(flaky->spec.env_pass.v[i], &flaky->spec.env);
	for (size_t i = 0; i < flaky->spec.env.n; i++)
		empty_variable(flaky, flaky->spec.env.v[i]);
	f->acted = json_array_size(flaky->credentials) > 0;
	opts->spec = &flaky->spec;
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

/* --- a body with damaged bytes ------------------------------------------------------------------ */

static char *flip_bit(struct mr_rand *rand, const struct mr_mock *mock, size_t *ret_size)
{
	char *body = mr_str_alloc(mock->body_size);
	const uint64_t bit = mr_rand_below(rand, mock->body_size * 8);

	memcpy(body, mock->body, mock->body_size);
	body[bit / 8] = (char)(body[bit / 8] ^ (1 << bit % 8));
	*ret_size = mock->body_size;
	return body;
}

/* At least one byte is gone; that it is all of them is no accident of a transfer. */
static char *cut_end(struct mr_rand *rand, const struct mr_mock *mock, size_t *ret_size)
{
	char *body;

	if (mock->body_size < 2)
		return flip_bit(rand, mock, ret_size);
	*ret_size = 1 + mr_rand_below(rand, mock->body_size - 1);
	body = mr_str_alloc(*ret_size);
	memcpy(body, mock->body, *ret_size);
	return body;
}

/* --- the bodies of a mock ------------------------------------------------------------------------ */

/* With fields and bytes there are as many of each. */
static void fill_drifts(struct mr_failure *f, struct mr_mock *mock, bool fields, bool bytes)
{
	static void (*const changes[MR_MOCK_DRIFTS])(json_t *,
						     const char *) = { rename_field, drop_field,
								       retype_field, add_field };
	const size_t step = bytes ? 2 : 1;
	size_t n = 0;

	for (size_t i = bytes ? mr_rand_below(&f->rand, 2) : 0; fields && i < MR_MOCK_DRIFTS;
	     i += step) {
		mock->drifts[n] = drift(&f->rand, mock, changes[i], &mock->drift_sizes[n]);
		n += mock->drifts[n] != NULL;
	}
	for (; bytes && n < MR_MOCK_DRIFTS; n++)
		mock->drifts[n] =
			(n % 2 ? cut_end : flip_bit)(&f->rand, mock, &mock->drift_sizes[n]);
}

static void make_drift(const struct mr_run *run, struct mr_failure *f, struct mr_mocks *mocks)
{
	const bool bytes = run->spec->failure_corrupt_payload;
	const bool fields = !bytes || run->spec->failure_schema_drift ||
			    run->spec->failure_unexpected_input ||
			    mr_spec_names_failure(run->spec, MR_FAILURE_schema_drift);

	for (size_t i = 0; i < mocks->n; i++) {
		struct mr_mock *mock = &mocks->v[i];

		if (!mock->body || mock->body_size == 0 || mock->body_size > DRIFT_BODY_MAX)
			continue;
		fill_drifts(f, mock, fields, bytes);
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
	const bool *ours = flaky_of(f)->ours;
	size_t n;
	const struct mr_stub_count *counts = counts_of(run, f, &n);

	for (size_t i = 0; i < n; i++) {
		if (!ours[i])
			continue;
		f->opportunities += counts[i].hits;
		f->fired += counts[i].failures;
	}
}

static void tell_flaky(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct flaky *flaky = f->state;

	(void)run;
	if (flaky && flaky->credentials)
		json_object_set(object, "credentials", flaky->credentials);
}

static void free_flaky(struct mr_run *run, struct mr_failure *f)
{
	struct flaky *flaky = f->state;

	(void)run;
	if (flaky->credentials)
		mr_spec_deinit(&flaky->spec);
	json_decref(flaky->credentials);
	free(flaky->ours);
	free(flaky);
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
	.tell = tell_flaky,
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
