/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures
 *
 * injectors[] is all there is of it: a mode is one row.  Each has random numbers of its own, made
 * of the seed and of its name, so that the same seed and the same occasions of a mode give the same
 * failures, whatever other modes are there.
 */
#include "runtime/supervise/failures.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/supervise/state.h"

static const struct mr_injector *const injectors[] = {
	&mr_inject_cpu,
	&mr_inject_cpu_spike,
	&mr_inject_memory,
	&mr_inject_timeout,
	&mr_inject_api_latency,
	&mr_inject_schema_drift,
	&mr_inject_flaky_upstream,
	&mr_inject_network,
	&mr_inject_network_partition,
	&mr_inject_disk,
	&mr_inject_disk_corruption,
	&mr_inject_concurrency_spike,
	&mr_inject_hostile_input,
	&mr_inject_user_misuse,
};

static const struct mr_injector *find_injector(enum mr_failure_mode mode)
{
	for (size_t i = 0; i < N_ELEMENTS(injectors); i++)
		if (injectors[i]->mode == mode)
			return injectors[i];
	return NULL;
}

static const char *name_of(const struct mr_failure *f)
{
	return mr_failure_row(f->mode)->name;
}

static int choose_seed(struct mr_run *run, struct mr_error *err)
{
	if (run->spec->failure_seed != MR_UNSET)
		run->failures.seed = run->spec->failure_seed;
	else if (run->spec->net_seed != MR_UNSET)
		run->failures.seed = run->spec->net_seed;
	else
		return mr_rand_fresh_seed(&run->failures.seed, err);
	return 0;
}

/* FNV-1a of the name, so that a new mode changes nothing of the others. */
static uint64_t seed_of_mode(uint64_t seed, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (const char *p = name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3ULL;
	return hash ^ seed;
}

/* What stands in the way of it; NULL: nothing that is known before it is tried. */
static const char *hindrance(const struct mr_run *run, enum mr_failure_mode mode)
{
	const char *why = mr_failure_hindrance(run->spec, mode);
	const enum mr_failure_needs needs = mr_failure_row(mode)->needs;

	if (why)
		return why;
	if (needs == MR_FAILURE_NEEDS_GROUP &&
	    mr_cgroup_host_mode(run->host->cgroups) == MR_CGROUP_NONE)
		return "it needs a control group, and none can be had: run as root, or with a "
		       "delegated control group";
	return find_injector(mode) ? NULL : "it is not made by this version";
}

int mr_failures_begin(struct mr_run *run, struct mr_error *err)
{
	struct mr_failures *all = &run->failures;
	const uint32_t asked = mr_spec_failures(run->spec);
	int r = asked ? choose_seed(run, err) : 0;

	for (unsigned int i = 0; r == 0 && i < MR_FAILURE_COUNT_; i++) {
		struct mr_failure *f = &all->v[all->n];
		const char *why;

		if (!(asked & MR_FAILURE_BIT(i)))
			continue;
		all->n++;
		f->mode = (enum mr_failure_mode)i;
		mr_rand_init(&f->rand, seed_of_mode(all->seed, name_of(f)));
		why = hindrance(run, f->mode);
		if (!why)
			f->injector = find_injector(f->mode);
		else if (mr_spec_tolerates(run->spec, MR_PRESET_FAILURES))
			snprintf(f->why, sizeof(f->why), "%s", why);
		else
			r = mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
				   "failure mode %s: %s; --best-effort " MR_PRESET_FAILURES
				   " goes on without it",
				   name_of(f), why);
	}
	return r;
}

/* Credentials last: whatever else became of them, they are empty. */
void mr_failures_change(struct mr_run *run, struct mr_launch_opts *opts)
{
	mr_inject_misuse(run, opts);
	mr_inject_credentials(run, opts);
}

int mr_failures_start(struct mr_run *run, struct mr_error *err)
{
	const char *left_out = NULL;

	for (size_t i = 0; i < run->failures.n; i++) {
		struct mr_failure *f = &run->failures.v[i];
		int r = f->injector && f->injector->start ? f->injector->start(run, f, err) : 0;

		f->started = f->injector && r == 0;
		if (r < 0 && !mr_spec_tolerates(run->spec, MR_PRESET_FAILURES))
			return mr_err_wrap(err, r, "failure mode %s", name_of(f));
		if (r < 0)
			mr_failure_excuse(f, err);
		if (!f->started && !left_out)
			left_out = name_of(f);
	}
	if (left_out)
		mr_receipt_degrade(&run->receipt, MR_PRESET_FAILURES,
				   "%s is not made (\"failures\" says why, and of all)", left_out);
	return 0;
}

void mr_failures_stop(struct mr_run *run)
{
	for (size_t i = 0; i < run->failures.n; i++) {
		struct mr_failure *f = &run->failures.v[i];

		if (f->started && f->injector->stop)
			f->injector->stop(run, f);
	}
}

void mr_failures_count(struct mr_run *run)
{
	for (size_t i = 0; i < run->failures.n; i++) {
		struct mr_failure *f = &run->failures.v[i];

		if (f->started && f->injector->count)
			f->injector->count(run, f);
	}
}

void mr_failures_free(struct mr_run *run)
{
	for (size_t i = 0; i < run->failures.n; i++) {
		struct mr_failure *f = &run->failures.v[i];

		if (f->state)
			f->injector->free(run, f);
		f->state = NULL;
	}
}

struct mr_failure *mr_failures_find(struct mr_run *run, enum mr_failure_mode mode)
{
	for (size_t i = 0; i < run->failures.n; i++)
		if (run->failures.v[i].mode == mode && run->failures.v[i].injector)
			return &run->failures.v[i];
	return NULL;
}

bool mr_failure_fires(const struct mr_run *run, struct mr_failure *failure)
{
	const bool fires = mr_rand_below(&failure->rand, 100) < run->spec->failure_intensity;

	failure->opportunities++;
	failure->fired += fires;
	return fires;
}

void mr_failure_excuse(struct mr_failure *failure, const struct mr_error *err)
{
	if (!failure->why[0])
		snprintf(failure->why, sizeof(failure->why), "%.290s", err->msg);
}

static json_t *failure_json(const struct mr_run *run, const struct mr_failure *f)
{
	json_t *object = json_pack("{s:s, s:b}", "mode", name_of(f), "made", f->started);

	json_object_set_new(object, "opportunities", json_integer((json_int_t)f->opportunities));
	json_object_set_new(object, "fired", json_integer((json_int_t)f->fired));
	if (f->injector && f->injector->unit)
		json_object_set_new(object, f->injector->unit, json_integer((json_int_t)f->amount));
	if (f->started && f->injector && f->injector->tell)
		f->injector->tell(run, f, object);
	json_object_set_new(object, "why", f->why[0] ? json_string(f->why) : json_null());
	return object;
}

/* A failure that could not even have happened says nothing of the program. */
static json_t *inconclusive_why(const struct mr_run *run)
{
	json_t *reasons = json_array();

	for (size_t i = 0; i < run->failures.n; i++) {
		const struct mr_failure *f = &run->failures.v[i];

		if (f->started && (f->opportunities > 0 || f->acted))
			continue;
		json_array_append_new(reasons,
				      json_sprintf("%s: %s", name_of(f),
						   f->why[0]	? f->why
						   : f->started ? "it had no opportunity"
								: "the run did not come to it"));
	}
	return reasons;
}

void mr_failures_tell(const struct mr_run *run, json_t *result)
{
	json_t *list = json_array(), *why = inconclusive_why(run);

	for (size_t i = 0; i < run->failures.n; i++)
		json_array_append_new(list, failure_json(run, &run->failures.v[i]));
	json_object_set_new(result, "failures", list);
	json_object_set_new(result, "failure_seed",
			    run->failures.n ? json_integer((json_int_t)run->failures.seed)
					    : json_null());
	json_object_set_new(result, "inconclusive", json_boolean(json_array_size(why) > 0));
	json_object_set_new(result, "inconclusive_why", why);
}
