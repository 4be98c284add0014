/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generate: the same seed gives the same presets, in the documented order of draws and within the
 * documented values
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/scenario/check.h"
#include "runtime/scenario/draws.h"
#include "runtime/scenario/generate.h"
#include "runtime/scenario/modes.h"
#include "runtime/scenario/profile.h"

static json_t *generate(const struct mr_generate_opts *opts)
{
	struct mr_error err = MR_ERROR_INIT;
	json_t *list = NULL;

	if (mr_generate(opts, &list, &err) != 0)
		fail_msg("%s", err.msg);
	return list;
}

static char *text_of(const json_t *json)
{
	return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
}

static const char *string_of(const json_t *preset, const char *name)
{
	const char *text = json_string_value(json_object_get(preset, name));

	return text ? text : "";
}

static void golden_presets(void **state)
{
	static const struct {
		uint64_t seed;
		const char *text;
	} rows[] = {
		{ UINT64_C(0),
		  "{\"API_LATENCY_MS\":200,\"BANDWIDTH_LIMIT\":\"100Mbps\",\"CONCURRENCY_LEVEL\":"
		  "20,\"CPU_LIMIT\":\"4\",\"DISK_LIMIT\":\"512Mi\",\"FAILURE_MODES\":[\"disk\",\""
		  "cpu\",\"cpu_spike\"],\"GPU_LIMIT\":1,\"MAX_BANDWIDTH\":\"100Mbps\",\"MEMORY_LI"
		  "MIT\":\"2048Mi\",\"MIN_BANDWIDTH\":\"50Mbps\",\"NETWORK_JITTER_MS\":10,\"NETWO"
		  "RK_LATENCY_MS\":500,\"PACKET_DUPLICATION\":\"0%\",\"PACKET_LOSS\":\"0%\",\"PRE"
		  "SET_DRAWS\":22,\"PRESET_SEED\":0,\"SCENARIO_NAME\":\"random_0\",\"SECURITY_LEV"
		  "EL\":2,\"THREAT_INTENSITY\":70}" },
		{ UINT64_C(20261128),
		  "{\"API_LATENCY_MS\":50,\"BANDWIDTH_LIMIT\":\"50Mbps\",\"CONCURRENCY_LEVEL\":10"
		  "0,\"CPU_LIMIT\":\"8\",\"DISK_LIMIT\":\"1Gi\",\"FAILURE_MODES\":\"disk\",\"MAX_"
		  "BANDWIDTH\":\"50Mbps\",\"MEMORY_LIMIT\":\"1024Mi\",\"MIN_BANDWIDTH\":\"1Mbps\""
		  ",\"NETWORK_JITTER_MS\":50,\"NETWORK_LATENCY_MS\":500,\"PACKET_DUPLICATION\":\""
		  "5%\",\"PACKET_LOSS\":\"0%\",\"PRESET_DRAWS\":18,\"PRESET_SEED\":20261128,\"SCE"
		  "NARIO_NAME\":\"high_latency_api\",\"SECURITY_LEVEL\":4,\"THREAT_INTENSITY\":10"
		  "}" },
		{ UINT64_C(9007199254740991),
		  "{\"API_LATENCY_MS\":200,\"BANDWIDTH_LIMIT\":\"50Mbps\",\"CONCURRENCY_LEVEL\":5"
		  "0,\"CPU_LIMIT\":\"1\",\"DISK_LIMIT\":\"512Mi\",\"FAILURE_MODES\":\"timeout\","
		  "\"MAX_BANDWIDTH\":\"50Mbps\",\"MEMORY_LIMIT\":\"4096Mi\",\"MIN_BANDWIDTH\":\"5"
		  "0Mbps\",\"NETWORK_JITTER_MS\":20,\"NETWORK_LATENCY_MS\":200,\"PACKET_DUPLICATI"
		  "ON\":\"1%\",\"PACKET_LOSS\":\"10%\",\"PRESET_DRAWS\":18,\"PRESET_SEED\":900719"
		  "9254740991,\"SCENARIO_NAME\":\"high_latency_api\",\"SECURITY_LEVEL\":5,\"THREA"
		  "T_INTENSITY\":70}" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct mr_generate_opts opts = { .seed = rows[i].seed, .count = 1 };
		mr_auto_json json_t *list = generate(&opts);
		mr_auto_free char *text = text_of(json_array_get(list, 0));

		assert_string_equal(text, rows[i].text);
	}
}

/* Of all ways through the generator. */
static void golden_thousand(void **state)
{
	static const char *const profiles[] = { "high_latency", "hostile_input+user_misuse",
						"none" };
	static const char *const severities[] = { "low", "user_misuse=high" };
	const struct mr_generate_opts plain = { .seed = 1, .count = 1000 };
	const struct mr_generate_opts all = { .seed = MR_RAND_SEED_MAX - 5,
					      .count = 1000,
					      .profiles = profiles,
					      .n_profiles = N_ELEMENTS(profiles),
					      .severities = severities,
					      .n_severities = N_ELEMENTS(severities),
					      .user_misuse = true,
					      .unsafe = true,
					      .linux_only = true };
	mr_auto_json json_t *list = generate(&plain);
	mr_auto_json json_t *more = generate(&all);
	mr_auto_free char *text = text_of(list);
	mr_auto_free char *more_text = text_of(more);
	char hex[MR_HASH_HEX_SIZE];

	(void)state;
	mr_hash_hex(text, strlen(text), hex);
	assert_string_equal(hex,
			    "a11c6a23b65b4a3a800106b5ee3660d619897aa3ff6534636534f0d679334e7c");
	mr_hash_hex(more_text, strlen(more_text), hex);
	assert_string_equal(hex,
			    "8a6fc8f8186a4460e9b0b7e663bc8506e921307b136a390d37824a3041fa36bf");
}

/* By hand, from the document: the first draws of a preset with a profile that overwrites none. */
static void the_order_of_draws(void **state)
{
	static const char *const cpus[] = { "0.5", "1", "2", "4", "8" };
	static const char *const memory[] = { "128Mi",	"256Mi",  "512Mi",
					      "1024Mi", "2048Mi", "4096Mi" };
	static const char *const disk[] = { "512Mi", "1Gi", "2Gi", "4Gi", "8Gi" };
	static const json_int_t jitter[] = { 0, 5, 10, 20, 50 };
	static const char *const rates[] = { "1Mbps", "5Mbps", "10Mbps", "50Mbps", "100Mbps" };
	static const json_int_t api[] = { 50, 100, 200, 500, 1000 };
	static const json_int_t copies[] = { 1, 5, 10, 20, 50, 100 };
	static const json_int_t latency[] = { 10, 50, 100, 200, 500 };
	static const char *const loss[] = { "0%", "1%", "5%", "10%" };
	static const json_int_t levels[] = { 2, 3, 4, 5 };
	static const json_int_t gpus[] = { 0, 1, 2, 4 };
	static const char *const schema_drift = "schema_drift";

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		const struct mr_generate_opts opts = {
			.seed = seed, .count = 1, .profiles = &schema_drift, .n_profiles = 1
		};
		mr_auto_json json_t *list = generate(&opts);
		const json_t *p = json_array_get(list, 0);
		struct mr_rand rand;
		size_t i, j;

		mr_rand_init(&rand, seed);
		assert_string_equal(string_of(p, "CPU_LIMIT"), cpus[mr_rand_below(&rand, 5)]);
		assert_string_equal(string_of(p, "MEMORY_LIMIT"), memory[mr_rand_below(&rand, 6)]);
		assert_string_equal(string_of(p, "DISK_LIMIT"), disk[mr_rand_below(&rand, 5)]);
		assert_int_equal(json_integer_value(json_object_get(p, "NETWORK_JITTER_MS")),
				 jitter[mr_rand_below(&rand, 5)]);
		i = mr_rand_below(&rand, 5);
		j = i + mr_rand_below(&rand, 5 - i);
		assert_string_equal(string_of(p, "MIN_BANDWIDTH"), rates[i]);
		assert_string_equal(string_of(p, "MAX_BANDWIDTH"), rates[j]);
		assert_int_equal(json_integer_value(json_object_get(p, "API_LATENCY_MS")),
				 api[mr_rand_below(&rand, 5)]);
		assert_int_equal(json_integer_value(json_object_get(p, "CONCURRENCY_LEVEL")),
				 copies[mr_rand_below(&rand, 6)]);
		assert_int_equal(json_integer_value(json_object_get(p, "NETWORK_LATENCY_MS")),
				 latency[mr_rand_below(&rand, 5)]);
		assert_string_equal(string_of(p, "BANDWIDTH_LIMIT"),
				    rates[i + mr_rand_below(&rand, j - i + 1)]);
		assert_string_equal(string_of(p, "PACKET_LOSS"), loss[mr_rand_below(&rand, 4)]);
		assert_string_equal(string_of(p, "PACKET_DUPLICATION"),
				    loss[mr_rand_below(&rand, 3)]);
		assert_int_equal(json_integer_value(json_object_get(p, "SECURITY_LEVEL")),
				 levels[mr_rand_below(&rand, 4)]);
		mr_rand_below(&rand, 5); /* the profile's THREAT_INTENSITY stands over it */
		if (mr_rand_chance(&rand, 500))
			assert_int_equal(json_integer_value(json_object_get(p, "GPU_LIMIT")),
					 gpus[mr_rand_below(&rand, 4)]);
		else
			assert_null(json_object_get(p, "GPU_LIMIT"));
		if (mr_rand_chance(&rand, 300))
			assert_string_equal(string_of(p, "OS_TYPE"),
					    mr_rand_below(&rand, 2) ? "macos" : "windows");
		else
			assert_null(json_object_get(p, "OS_TYPE"));
		assert_int_equal(json_integer_value(json_object_get(p, "PRESET_DRAWS")),
				 rand.draws);
		assert_int_equal(json_integer_value(json_object_get(p, "PRESET_SEED")), seed);
	}
}

/* A preset of many comes alone from its own seed. */
static void each_preset_comes_again(void **state)
{
	const struct mr_generate_opts opts = { .seed = 500, .count = 50 };
	mr_auto_json json_t *list = generate(&opts);

	(void)state;
	assert_int_equal(json_array_size(list), 50);
	for (size_t i = 0; i < 50; i++) {
		json_t *preset = json_array_get(list, i);
		const struct mr_generate_opts one = { .seed = (uint64_t)json_integer_value(
							      json_object_get(preset,
									      "PRESET_SEED")),
						      .count = 1 };
		mr_auto_json json_t *again = generate(&one);

		assert_int_equal(one.seed, 500 + i);
		assert_true(json_equal(preset, json_array_get(again, 0)));
	}
}

static void seeds_go_round(void **state)
{
	const struct mr_generate_opts opts = { .seed = MR_RAND_SEED_MAX, .count = 2 };
	mr_auto_json json_t *list = generate(&opts);

	(void)state;
	assert_int_equal(json_integer_value(
				 json_object_get(json_array_get(list, 1), "PRESET_SEED")),
			 0);
}

static void check_well_formed(json_t *preset)
{
	const struct mr_json root = mr_json_root(preset, "p");
	mr_auto_json json_t *report = NULL;
	json_int_t level = json_integer_value(json_object_get(preset, "SECURITY_LEVEL"));
	enum mr_check_verdict verdict = mr_check_preset(&root, true, &report);
	const bool has_problems = json_array_size(json_object_get(report, "problems")) > 0;

	if (verdict == MR_CHECK_MALFORMED || (has_problems && level != 1)) {
		mr_auto_free char *text = text_of(report);

		fail_msg("%s", text);
	}
}

static void check_one(json_t *preset, bool unsafe)
{
	json_int_t level = json_integer_value(json_object_get(preset, "SECURITY_LEVEL"));

	check_well_formed(preset);
	assert_in_range(level, unsafe ? 1 : 2, 5);
}

static void what_is_drawn_is_well_formed(void **state)
{
	const struct mr_generate_opts opts = { .seed = 1000, .count = 400, .user_misuse = true };
	const struct mr_generate_opts unsafe = { .seed = 1000, .count = 150, .unsafe = true };
	mr_auto_json json_t *list = generate(&opts);
	mr_auto_json json_t *more = generate(&unsafe);
	mr_auto_json json_t *seen = json_object();
	bool level_1 = false;

	(void)state;
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *preset = json_array_get(list, i);

		check_one(preset, false);
		mr_auto_json json_t *modes = json_array();

		mr_modes_add(modes, json_object_get(preset, "FAILURE_MODES"));
		for (size_t k = 0; k < json_array_size(modes); k++)
			json_object_set_new(seen, json_string_value(json_array_get(modes, k)),
					    json_true());
	}
	assert_int_equal(json_object_size(seen), 15);
	for (size_t i = 0; i < json_array_size(more); i++) {
		json_t *preset = json_array_get(more, i);

		check_one(preset, true);
		level_1 |= json_integer_value(json_object_get(preset, "SECURITY_LEVEL")) == 1;
		assert_false(mr_modes_has(preset, "user_misuse"));
		assert_string_not_equal(string_of(preset, "SCENARIO_NAME"), "user_misuse");
	}
	assert_true(level_1);
}

static void what_a_mode_brings_along(void **state)
{
	const struct mr_generate_opts opts = { .seed = 1, .count = 1000 };
	const char *const none = "none";
	const struct mr_generate_opts plain = {
		.seed = 1, .count = 1000, .profiles = &none, .n_profiles = 1
	};
	mr_auto_json json_t *list = generate(&plain);
	mr_auto_json json_t *coins = generate(&opts);
	size_t bare = 0, bare_with_coin = 0;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		const json_t *p = json_array_get(list, i);
		json_int_t api = json_integer_value(json_object_get(p, "API_LATENCY_MS"));

		if (mr_modes_has(p, "api_latency"))
			assert_true(api == 500 || api == 1000);
		if (mr_modes_has(p, "concurrency_spike")) {
			assert_in_range(json_integer_value(json_object_get(p, "CONCURRENCY_LEVEL")),
					20, 100);
			assert_string_equal(string_of(p, "SCENARIO_NAME"), "concurrency_spike");
			assert_non_null(json_object_get(p, "THREAD_BURST"));
			assert_non_null(json_object_get(p, "ASYNC_TASK_BURST"));
			assert_non_null(json_object_get(p, "MAX_THREADS"));
		}
		assert_int_equal(json_is_true(json_object_get(p, "MALICIOUS_DATA")),
				 mr_modes_has(p, "hostile_input") ||
					 mr_modes_has(p, "malicious_data"));
		bare += !json_object_get(p, "FAILURE_MODES");
		bare_with_coin += !json_object_get(json_array_get(coins, i), "FAILURE_MODES");
	}
	/* Three of ten of those without a mode take a profile when none was asked for. */
	assert_in_range(bare, 20, 100);
	assert_in_range(bare_with_coin, bare * 5 / 10, bare * 9 / 10);
}

static void profiles_lie_over_a_random_base(void **state)
{
	static const char *const profiles[] = { "high_latency_api",
						"concurrency_spike+flaky_upstream" };
	static const char *const severities[] = { "low", "flaky_upstream=high" };
	const struct mr_generate_opts opts = { .seed = 3,
					       .profiles = profiles,
					       .n_profiles = 2,
					       .severities = severities,
					       .n_severities = 2 };
	mr_auto_json json_t *list = generate(&opts);
	const json_t *first = json_array_get(list, 0), *second = json_array_get(list, 1);
	mr_auto_free char *modes = text_of(json_object_get(second, "FAILURE_MODES"));

	(void)state;
	assert_int_equal(json_array_size(list), 2); /* more than the count of none */
	assert_string_equal(string_of(first, "SCENARIO_NAME"), "high_latency_api");
	assert_int_equal(json_integer_value(json_object_get(first, "API_LATENCY_MS")), 500);
	assert_string_equal(string_of(second, "SCENARIO_NAME"), "concurrency_spike+flaky_upstream");
	assert_string_equal(modes, "[\"concurrency_spike\",\"cpu_spike\",\"flaky_upstream\"]");
	assert_int_equal(json_integer_value(json_object_get(second, "UPSTREAM_FAILURES")), 5);
	assert_int_equal(json_integer_value(json_object_get(second, "MAX_THREADS")), 100);
	assert_int_equal(json_integer_value(json_object_get(second, "THREAT_INTENSITY")), 40);
}

static void assert_refused(const char *profile, const char *severity, const char *message)
{
	const struct mr_generate_opts opts = { .count = 1,
					       .profiles = &profile,
					       .n_profiles = 1,
					       .severities = &severity,
					       .n_severities = 1 };
	struct mr_error err = MR_ERROR_INIT;
	json_t *list = NULL;

	assert_int_equal(mr_generate(&opts, &list, &err), -22);
	assert_string_equal(err.msg, message);
	assert_int_equal(err.code, MR_E_USAGE);
	assert_null(list);
}

static void what_is_unknown_is_refused(void **state)
{
	(void)state;
	assert_refused("hostile_inptu", "low",
		       "unknown profile \"hostile_inptu\"; did you mean \"hostile_input\"?");
	assert_refused("xyzzy", "low",
		       "unknown profile \"xyzzy\"; accepted: high_latency_api, hostile_input, "
		       "user_misuse, concurrency_spike, schema_drift, flaky_upstream");
	assert_refused("hostile_input+", "low",
		       "unknown profile \"\"; accepted: high_latency_api, hostile_input, "
		       "user_misuse, concurrency_spike, schema_drift, flaky_upstream");
	assert_refused("hostile_input", "medium", "unknown level \"medium\"; accepted: low, high");
	assert_refused("hostile_input", "hostile_inptu=low",
		       "unknown profile \"hostile_inptu\"; did you mean \"hostile_input\"?");
}

static void canonical_profiles(void **state)
{
	size_t n, core = 0;
	const struct mr_profile *rows = mr_profile_rows(&n), *found = NULL;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(n, 6);
	for (size_t i = 0; i < n; i++) {
		core += rows[i].core;
		for (unsigned int level = 0; level < MR_PROFILE_LEVELS; level++) {
			mr_auto_json json_t *preset =
				mr_profile_preset(&rows[i], (enum mr_profile_level)level);

			check_well_formed(preset);
			assert_string_equal(string_of(preset, "CPU_LIMIT"), "1");
			assert_string_equal(string_of(preset, "MEMORY_LIMIT"), "512Mi");
			assert_string_equal(string_of(preset, "SCENARIO_NAME"), rows[i].name);
		}
	}
	assert_int_equal(core, 4);
	assert_int_equal(mr_profile_find("upstream_failure", &found, &err), 0);
	assert_string_equal(found->name, "flaky_upstream");
}

static void lists_ascend(void **state)
{
	size_t n;
	const struct mr_draw *rows = mr_draws_rows(&n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < rows[i].n; k++) {
			mr_auto_json json_t *value = mr_draws_json(&rows[i], k);
			uint64_t amount = 0;

			assert_true(mr_draws_amount(rows[i].grammar, value, &amount));
			assert_int_equal(mr_draws_at_least(&rows[i], amount), k);
			assert_int_equal(mr_draws_at_least(&rows[i], amount + 1), k + 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_presets),
		cmocka_unit_test(golden_thousand),
		cmocka_unit_test(the_order_of_draws),
		cmocka_unit_test(each_preset_comes_again),
		cmocka_unit_test(seeds_go_round),
		cmocka_unit_test(what_is_drawn_is_well_formed),
		cmocka_unit_test(what_a_mode_brings_along),
		cmocka_unit_test(profiles_lie_over_a_random_base),
		cmocka_unit_test(what_is_unknown_is_refused),
		cmocka_unit_test(canonical_profiles),
		cmocka_unit_test(lists_ascend),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
