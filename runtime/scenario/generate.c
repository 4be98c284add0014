/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generate: presets from a seed
 *
 * A preset is drawn in this order, from one stream of numbers:
 *
 *   1. each row of draws.def, within what orders.def leaves of its values; a row
 *      with a chance is preceded by a draw whether it is there at all
 *   2. in three of ten cases another system than Linux, and which
 *   3. without a profile: a slow network or service is a failure mode by itself;
 *      then two or three failure modes in one of five cases, else one of all or
 *      none; then what the modes bring along, in the order of bring_along[]
 *   4. if no profile was asked for at all and there is still no failure mode: in
 *      three of ten cases a profile, and which
 *
 * A profile brings its own failure modes, so step 3 is not drawn for it: what a mode
 * brings along would stay behind when the profile takes the mode away.
 */
#include "runtime/scenario/generate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/scenario/combine.h"
#include "runtime/scenario/draws.h"
#include "runtime/scenario/modes.h"
#include "runtime/scenario/profile.h"

#define PARTS_MAX 16 /* profiles in one preset */
#define PROFILES_MAX 16

/* One preset being drawn. */
struct drawing {
	struct mr_rand rand;
	json_t *preset;
	const struct mr_generate_opts *opts;
	const enum mr_profile_level *levels; /* of each profile */
};

static const char *const modes[] = {
#define MODE(name, ...) #name,
#include "runtime/spec/failure_modes.def"
#undef MODE
};

static void set(json_t *preset, const char *name, json_t *value)
{
	mr_assert(json_object_set_new(preset, name, value) == 0);
}

static json_int_t number_of(const json_t *preset, const char *name)
{
	return json_integer_value(json_object_get(preset, name));
}

/* --- steps 1 and 2 --------------------------------------------------------- */

static void draw_from(struct drawing *d, const struct mr_draw *row)
{
	size_t from, to;

	mr_draws_range(row, d->preset, &from, &to);
	if (strcmp(row->name, "SECURITY_LEVEL") == 0 && !d->opts->unsafe)
		from = 1; /* level 1 needs consent of its own */
	mr_assert(from < to);
	set(d->preset, row->name,
	    mr_draws_json(row, from + (size_t)mr_rand_below(&d->rand, to - from)));
}

static void draw_variable(struct drawing *d, const char *name)
{
	const struct mr_draw *row = mr_draws_find(name);

	mr_assert(row);
	draw_from(d, row);
}

static void draw_system(struct drawing *d)
{
	static const char *const systems[] = { "windows", "macos" };
	const char *os;

	if (!mr_rand_chance(&d->rand, 300))
		return;
	os = systems[mr_rand_below(&d->rand, N_ELEMENTS(systems))];
	if (d->opts->linux_only)
		return;
	mr_auto_free char *image = mr_str_format("python:3.11-%s", os);
	mr_auto_free char *key = mr_str_format("%s_image", os);
	mr_auto_free char *disk = mr_str_format("%s-base.qcow2", os);

	set(d->preset, "OS_TYPE", json_string(os));
	set(d->preset, "CONTAINER_IMAGE", json_string(image));
	set(d->preset, "VM_SETTINGS", json_pack("{s:s, s:s}", key, disk, "memory", "4Gi"));
}

static void draw_base(struct drawing *d)
{
	size_t n;
	const struct mr_draw *rows = mr_draws_rows(&n);

	for (size_t i = 0; i < n; i++) {
		if (rows[i].chance == 0)
			continue;
		if (rows[i].chance == 1000 || mr_rand_chance(&d->rand, rows[i].chance))
			draw_from(d, &rows[i]);
	}
	draw_system(d);
}

/* --- step 3 ---------------------------------------------------------------- */

static void imply_mode(json_t *preset)
{
	const bool late = number_of(preset, "API_LATENCY_MS") >= 500;
	uint64_t loss = 0;
	bool slow;

	mr_draws_amount(MR_DRAW_PERCENT, json_object_get(preset, "PACKET_LOSS"), &loss);
	slow = number_of(preset, "NETWORK_LATENCY_MS") >= 200 &&
	       (number_of(preset, "NETWORK_JITTER_MS") >= 20 || loss >= 50000);
	if (!late && !slow)
		return;
	set(preset, "FAILURE_MODES", json_string(late ? "api_latency" : "network"));
	set(preset, "SCENARIO_NAME", json_string("high_latency_api"));
}

/* Names of the modes that were drawn; new reference. */
static json_t *draw_modes(struct drawing *d)
{
	const char *pool[N_ELEMENTS(modes)];
	json_t *drawn = json_array();
	size_t n = 0, wanted;

	for (size_t i = 0; i < N_ELEMENTS(modes); i++)
		if (d->opts->user_misuse || strcmp(modes[i], MR_PROFILE_MISUSE) != 0)
			pool[n++] = modes[i];
	if (!mr_rand_chance(&d->rand, 200)) {
		size_t pick = (size_t)mr_rand_below(&d->rand, n + 1);

		if (pick > 0) /* else: none */
			json_array_append_new(drawn, json_string(pool[pick - 1]));
		return drawn;
	}
	wanted = 2 + (size_t)mr_rand_below(&d->rand, 2);
	for (size_t i = 0; i < wanted; i++) {
		size_t pick = (size_t)mr_rand_below(&d->rand, n);

		json_array_append_new(drawn, json_string(pool[pick]));
		pool[pick] = pool[--n];
	}
	return drawn;
}

static void bring_api_latency(struct drawing *d)
{
	set(d->preset, "API_LATENCY_MS", json_integer(mr_rand_below(&d->rand, 2) ? 1000 : 500));
	set(d->preset, "SCENARIO_NAME", json_string("high_latency_api"));
}

/* hostile_input has the last word about the name. */
static void bring_hostile(struct drawing *d)
{
	set(d->preset, "SCENARIO_NAME",
	    json_string(mr_modes_has(d->preset, "hostile_input") ? "hostile_input"
								 : "malicious_data"));
	set(d->preset, "SANDBOX_STUB_STRATEGY", json_string("hostile"));
	set(d->preset, "PAYLOAD_INDICATOR", json_string("corrupted_bytes"));
	set(d->preset, "MALICIOUS_DATA", json_true());
}

static void bring_misuse(struct drawing *d)
{
	set(d->preset, "SCENARIO_NAME", json_string(MR_PROFILE_MISUSE));
	set(d->preset, "SANDBOX_STUB_STRATEGY", json_string("misuse"));
	set(d->preset, "INVALID_CONFIG", json_true());
	set(d->preset, "INVALID_PARAM_TYPES", json_true());
	set(d->preset, "UNEXPECTED_API_CALLS", json_true());
}

static void bring_concurrency(struct drawing *d)
{
	static const json_int_t levels[] = { 20, 50, 100 };
	json_int_t level;

	draw_variable(d, "THREAD_BURST");
	draw_variable(d, "ASYNC_TASK_BURST");
	draw_variable(d, "MAX_THREADS");
	set(d->preset, "CPU_SPIKE", json_true());
	set(d->preset, "SCENARIO_NAME", json_string("concurrency_spike"));
	level = levels[mr_rand_below(&d->rand, N_ELEMENTS(levels))];
	if (level > number_of(d->preset, "CONCURRENCY_LEVEL"))
		set(d->preset, "CONCURRENCY_LEVEL", json_integer(level));
}

/* In this order: a later one overwrites the name. */
static const struct {
	const char *mode, *also;
	void (*bring)(struct drawing *d);
} bring_along[] = {
	{ "api_latency", NULL, bring_api_latency },
	{ "hostile_input", "malicious_data", bring_hostile },
	{ MR_PROFILE_MISUSE, NULL, bring_misuse },
	{ "concurrency_spike", NULL, bring_concurrency },
};

static void draw_failures(struct drawing *d)
{
	mr_auto_json json_t *drawn = NULL;

	imply_mode(d->preset);
	drawn = draw_modes(d);
	if (json_array_size(drawn) == 0)
		return;
	set(d->preset, "FAILURE_MODES", mr_modes_json(drawn));
	for (size_t i = 0; i < N_ELEMENTS(bring_along); i++)
		if (mr_modes_has(d->preset, bring_along[i].mode) ||
		    (bring_along[i].also && mr_modes_has(d->preset, bring_along[i].also)))
			bring_along[i].bring(d);
}

/* --- profiles -------------------------------------------------------------- */

static void lay_over(struct drawing *d, const struct mr_profile *profile)
{
	size_t n;
	const struct mr_profile *first = mr_profile_rows(&n);
	mr_auto_json json_t *overlay = mr_profile_overlay(profile, d->levels[profile - first]);

	mr_assert(json_object_update(d->preset, overlay) == 0);
}

static void draw_profile(struct drawing *d)
{
	const struct mr_profile *pool[PROFILES_MAX];
	const struct mr_profile *rows;
	size_t n_rows, n = 0;

	if (!mr_rand_chance(&d->rand, 300))
		return;
	rows = mr_profile_rows(&n_rows);
	for (size_t i = 0; i < n_rows && n < N_ELEMENTS(pool); i++)
		if (d->opts->user_misuse || strcmp(rows[i].name, MR_PROFILE_MISUSE) != 0)
			pool[n++] = &rows[i];
	lay_over(d, pool[mr_rand_below(&d->rand, n)]);
}

/* "NAME" or "NAME+NAME": the profiles of one preset. */
static int find_profiles(const char *entry, const struct mr_profile **ret, size_t *ret_n,
			 struct mr_error *err)
{
	size_t n = 0;

	for (;;) {
		size_t length = strcspn(entry, "+");
		mr_auto_free char *name = mr_str_ndup(entry, length);
		int r;

		if (n == PARTS_MAX)
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "more than %d profiles in one preset", PARTS_MAX);
		r = mr_profile_find(name, &ret[n++], err);
		if (r < 0)
			return r;
		if (entry[length] == '\0')
			break;
		entry += length + 1;
	}
	*ret_n = n;
	return 0;
}

static int lay_over_entry(struct drawing *d, const char *entry, struct mr_error *err)
{
	const struct mr_profile *found[PARTS_MAX];
	struct mr_combine_part parts[PARTS_MAX];
	mr_auto_json json_t *held = json_array();
	mr_auto_json json_t *overlay = NULL;
	size_t n = 0, n_rows;
	int r = find_profiles(entry, found, &n, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		json_t *part = mr_profile_overlay(found[i],
						  d->levels[found[i] - mr_profile_rows(&n_rows)]);

		json_array_append_new(held, part);
		parts[i] = (struct mr_combine_part){ part, found[i]->name };
	}
	r = mr_combine(parts, n, &overlay, NULL, err);
	if (r == 0)
		mr_assert(json_object_update(d->preset, overlay) == 0);
	return r;
}

/* --- a preset, and all of them --------------------------------------------- */

static int draw_preset(struct drawing *d, const char *entry, uint64_t seed, struct mr_error *err)
{
	mr_rand_init(&d->rand, seed);
	draw_base(d);
	if (entry && strcmp(entry, "none") != 0) {
		int r = lay_over_entry(d, entry, err);

		if (r < 0)
			return r;
	} else {
		draw_failures(d);
		if (d->opts->n_profiles == 0 && !json_object_get(d->preset, "FAILURE_MODES"))
			draw_profile(d);
	}
	if (!json_object_get(d->preset, "SCENARIO_NAME")) {
		mr_auto_free char *name = mr_str_format("random_%ju", (uintmax_t)seed);

		set(d->preset, "SCENARIO_NAME", json_string(name));
	}
	set(d->preset, "PRESET_SEED", json_integer((json_int_t)seed));
	set(d->preset, "PRESET_DRAWS", json_integer((json_int_t)d->rand.draws));
	return 0;
}

/* What a preset asks for, without what only names it; malloc'd. */
static char *text_of_request(json_t *preset)
{
	static const char *const names[] = { "SCENARIO_NAME", "PRESET_SEED", "PRESET_DRAWS" };
	mr_auto_json json_t *rest = json_copy(preset);
	char *text;

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		json_object_del(rest, names[i]);
	text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
	mr_assert(text);
	return text;
}

/* 1: another one before asks for the same. */
static int add_if_new(json_t *list, json_t *seen, json_t *preset)
{
	mr_auto_free char *text = text_of_request(preset);

	if (json_object_get(seen, text))
		return 1;
	set(seen, text, json_true());
	json_array_append(list, preset);
	return 0;
}

static int parse_severity(const char *text, enum mr_profile_level *levels, struct mr_error *err)
{
	const char *equals = strchr(text, '=');
	enum mr_profile_level level = MR_PROFILE_HIGH;
	const struct mr_profile *rows, *profile = NULL;
	size_t n;
	int r = mr_profile_parse_level(equals ? equals + 1 : text, &level, err);

	if (r < 0)
		return r;
	rows = mr_profile_rows(&n);
	if (equals) {
		mr_auto_free char *name = mr_str_ndup(text, (size_t)(equals - text));

		r = mr_profile_find(name, &profile, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n; i++)
		if (!profile || profile == &rows[i])
			levels[i] = level;
	return 0;
}

static int parse_severities(const struct mr_generate_opts *opts, enum mr_profile_level *levels,
			    struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; i < PROFILES_MAX; i++)
		levels[i] = MR_PROFILE_HIGH;
	for (size_t i = 0; r == 0 && i < opts->n_severities; i++)
		r = parse_severity(opts->severities[i], levels, err);
	return r;
}

static int draw_all(const struct mr_generate_opts *opts, const enum mr_profile_level *levels,
		    json_t *list, struct mr_error *err)
{
	size_t wanted = opts->count > opts->n_profiles ? opts->count : opts->n_profiles;
	mr_auto_json json_t *seen = json_object();
	uint64_t seed = opts->seed;

	for (size_t i = 0; i < wanted;) {
		mr_auto_json json_t *preset = json_object();
		struct drawing d = { .preset = preset, .opts = opts, .levels = levels };
		int r = draw_preset(&d, i < opts->n_profiles ? opts->profiles[i] : NULL, seed, err);

		if (r < 0)
			return r;
		if (add_if_new(list, seen, preset) == 0)
			i++;
		seed = seed == MR_RAND_SEED_MAX ? 0 : seed + 1;
	}
	return 0;
}

int mr_generate(const struct mr_generate_opts *opts, json_t **ret, struct mr_error *err)
{
	enum mr_profile_level levels[PROFILES_MAX];
	mr_auto_json json_t *list = json_array();
	size_t n;
	int r;

	mr_profile_rows(&n);
	mr_assert(n <= PROFILES_MAX && opts->seed <= MR_RAND_SEED_MAX);
	r = parse_severities(opts, levels, err);
	if (r == 0)
		r = draw_all(opts, levels, list, err);
	if (r == 0)
		*ret = mr_take_ptr(list);
	return r;
}
