/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "netns/mock.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/hostile.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/helper.h"

static int set_up(void **state)
{
	static struct mr_spec spec;

	mr_spec_init(&spec);
	mr_strv_add(&spec.argv, "true");
	*state = &spec;
	return 0;
}

static int tear_down(void **state)
{
	mr_spec_deinit(*state);
	return 0;
}

static void set(struct mr_spec *spec, const char *assignment)
{
	struct mr_error err = MR_ERROR_INIT;

	if (mr_spec_set_assignment(spec, assignment, &err) < 0)
		fail_msg("%s: %s", assignment, err.msg);
}

static void assert_invalid(const struct mr_spec *spec, const char *message)
{
	struct mr_error err = MR_ERROR_INIT;

	assert_int_equal(mr_spec_validate(spec, &err), -EINVAL);
	assert_string_equal(err.msg, message);
	assert_int_equal(err.code, MR_E_USAGE);
}

static void names_are_read_in_any_order_and_printed_in_one(void **state)
{
	static const struct {
		const char *text, *printed;
	} rows[] = {
		{ "", "" },
		{ " none , ,", "" },
		{ "timeout,cpu", "cpu,timeout" },
		{ "\tcpu , cpu,\nmemory", "cpu,memory" },
		{ "flaky_upstream", "flaky_upstream" },
	};
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_free char *printed = NULL;
		uint32_t mask = 0;

		assert_int_equal(mr_failures_parse(rows[i].text, &mask, &err), 0);
		printed = mr_failures_print(mask);
		assert_string_equal(printed, rows[i].printed);
	}
}

static void names_that_are_none_are_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "cpu,netwrok", "unknown failure mode \"netwrok\"; did you mean \"network\"?" },
		{ "cpu memory", "unknown failure mode \"cpu memory\"" },
		{ "CPU", "unknown failure mode \"CPU\"; did you mean \"cpu\"?" },
		{ "xyzzy", "unknown failure mode \"xyzzy\"" },
	};
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		uint32_t mask = 7;

		assert_int_equal(mr_failures_parse(rows[i].text, &mask, &err), -EINVAL);
		assert_string_equal(err.msg, rows[i].message);
		assert_int_equal(mask, 7);
	}
}

static void each_mode_needs_what_it_acts_on(void **state)
{
	static const struct {
		const char *mode, *net, *message; /* NULL: nothing is in its way */
	} rows[] = {
		{ "cpu", "none", NULL },
		{ "disk", "none", NULL },
		{ "timeout", "host", NULL },
		{ "network", "none",
		  "it needs a network of the sandbox's own: net.mode loopback, stub or allowlist" },
		{ "network_partition", "host",
		  "it needs a network of the sandbox's own: net.mode loopback, stub or allowlist" },
		{ "network", "loopback", NULL },
		{ "flaky_upstream", "loopback",
		  "it needs answers of ours: net.mode=stub (--net stub --mock ...)" },
		{ "api_latency", "stub", NULL },
		{ "user_misuse", "none", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_free char *net = mr_str_format("net.mode=%s", rows[i].net);
		struct mr_spec *spec = *state;
		struct mr_error err = MR_ERROR_INIT;
		const char *why;
		uint32_t mask = 0;

		set(spec, net);
		assert_int_equal(mr_failures_parse(rows[i].mode, &mask, &err), 0);
		why = mr_failure_hindrance(spec, (enum mr_failure_mode)__builtin_ctz(mask));
		if (rows[i].message)
			assert_string_equal(why, rows[i].message);
		else
			assert_null(why);
	}
}

static void a_request_that_cannot_be_is_refused_unless_it_is_accepted(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	set(spec, "failure.modes=cpu,network");
	assert_invalid(spec, "failure.modes: network: it needs a network of the sandbox's own: "
			     "net.mode loopback, stub or allowlist; leave it out, or accept that "
			     "with best_effort (--best-effort FAILURE_MODES)");
	assert_int_equal(mr_spec_add_best_effort(spec, "FAILURE_MODES", &err), 0);
	assert_int_equal(mr_spec_validate(spec, &err), 0);
	assert_int_equal(mr_spec_failures(spec),
			 MR_FAILURE_BIT(MR_FAILURE_cpu) | MR_FAILURE_BIT(MR_FAILURE_network));
}

static void a_memory_limit_must_leave_something(void **state)
{
	static const struct {
		const char *limit;
		bool ok;
	} rows[] = { { "4194304", false }, { "4194305", true }, { "unlimited", false } };
	struct mr_spec *spec = *state;

	set(spec, "failure.modes=memory");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_free char *text =
			mr_str_format("limits.memory_max_bytes=%s", rows[i].limit);

		set(spec, text);
		assert_int_equal(mr_failure_hindrance(spec, MR_FAILURE_memory) == NULL, rows[i].ok);
	}
}

static void knobs_belong_to_their_modes(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	set(spec, "failure.upstream_failures=2");
	assert_invalid(spec, "failure.upstream_failures: is for the failure mode flaky_upstream "
			     "alone (failure.modes, FAILURE_MODES)");
	set(spec, "net.mode=stub");
	set(spec, "failure.modes=flaky_upstream");
	assert_int_equal(mr_spec_validate(spec, &err), 0);
	set(spec, "failure.upstream_requests=1");
	assert_invalid(spec, "failure.upstream_failures: is over failure.upstream_requests");
	set(spec, "failure.upstream_failures=1");
	assert_int_equal(mr_spec_validate(spec, &err), 0);
	/* Asks for nothing. */
	set(spec, "failure.modes=none");
	set(spec, "failure.upstream_failures=0");
	assert_int_equal(mr_spec_validate(spec, &err), 0);
}

static void a_preset_sets_them(void **state)
{
	static const char text[] = "{\"FAILURE_MODES\": [\"timeout\", [\"cpu, none\"]],"
				   " \"THREAT_INTENSITY\": \"30\", \"CPU_SPIKE\": \"yes\","
				   " \"PRESET_SEED\": 5}";
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_int_equal(mr_preset_apply_json(spec, text, strlen(text), "p", MR_ORIGIN_PRESET,
					      &err),
			 0);
	assert_string_equal(spec->failure_modes, "cpu,timeout");
	assert_int_equal(mr_spec_failures(spec), MR_FAILURE_BIT(MR_FAILURE_cpu) |
							 MR_FAILURE_BIT(MR_FAILURE_cpu_spike) |
							 MR_FAILURE_BIT(MR_FAILURE_timeout));
	assert_int_equal(spec->failure_intensity, 30);
	assert_int_equal(spec->net_seed, 5);
	assert_true(spec->failure_seed == MR_UNSET);
	assert_int_equal(spec->unenforced.n, 0);
}

static void flags_of_misuse_are_the_mode(void **state)
{
	static const char *const texts[] = { "{\"INVALID_CONFIG\": true}",
					     "{\"INVALID_PARAM_TYPES\": 1}",
					     "{\"UNEXPECTED_API_CALLS\": \"yes\"}",
					     "{\"FAILURE_MODES\": [[\"user_misuse\"]]}" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		struct mr_error err = MR_ERROR_INIT;
		struct mr_spec spec;

		mr_spec_init(&spec);
		assert_int_equal(mr_spec_failures(&spec), 0);
		assert_int_equal(mr_preset_apply_json(&spec, texts[i], strlen(texts[i]), "p",
						      MR_ORIGIN_PRESET, &err),
				 0);
		assert_int_equal(mr_spec_failures(&spec), MR_FAILURE_BIT(MR_FAILURE_user_misuse));
		assert_int_equal(spec.unenforced.n, 0);
		mr_spec_deinit(&spec);
	}
}

static void unexpected_input_is_drift(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;
	static const char preset[] = "{\"UNEXPECTED_INPUT\": true}";

	assert_int_equal(mr_preset_apply_json(spec, preset, sizeof(preset) - 1, "p",
					      MR_ORIGIN_PRESET, &err),
			 0);
	assert_int_equal(mr_spec_failures(spec), MR_FAILURE_BIT(MR_FAILURE_schema_drift));
	assert_int_equal(spec->failure_schema_mismatches, 5);
	assert_int_equal(spec->failure_schema_checks, 100);
	assert_int_equal(spec->unenforced.n, 0);
}

/* 99.99 % of right generators are within. */
static void seconds_are_drawn_by_the_seed(void **state)
{
	static struct mr_seconds first, second, never, always;
	struct mr_rand rand;
	unsigned int n = 0;

	(void)state;
	mr_rand_init(&rand, 3);
	mr_seconds_draw(&first, &rand, 30);
	mr_rand_init(&rand, 3);
	mr_seconds_draw(&second, &rand, 30);
	mr_seconds_draw(&never, &rand, 0);
	mr_seconds_draw(&always, &rand, 100);
	assert_memory_equal(&first, &second, sizeof(first));
	for (uint64_t i = 0; i < MR_SECONDS; i++) {
		n += mr_seconds_fire(&first, i);
		assert_false(mr_seconds_fire(&never, i));
		assert_true(mr_seconds_fire(&always, i));
	}
	assert_in_range(n, 19205, 20117);
	assert_int_equal(mr_seconds_fire(&first, MR_SECONDS), mr_seconds_fire(&first, 0));
}

static void hostile_inputs_are_what_they_say(void **state)
{
	static const struct {
		const char *id;
		size_t size;
		const char *begin, *end;
	} rows[] = {
		{ "empty", 0, "", "" },
		{ "nul", 1, "\0", "\0" },
		{ "run-of-1m", 1048576, "A", "A" },
		{ "json-deep", 20000, "[[", "]]" },
		{ "path-nul", 21, "../", "\0.png" },
		{ "nan", 3, "NaN", "NaN" },
	};
	size_t n, found = 0;
	const struct mr_hostile *all = mr_hostile_rows(&n);

	(void)state;
	assert_in_range(n, 60, 200);
	for (size_t i = 0; i < n; i++) {
		size_t size;
		mr_auto_free char *bytes = mr_hostile_build(&all[i], &size);

		assert_int_equal(strspn(all[i].id, "abcdefghijklmnopqrstuvwxyz0123456789-"),
				 strlen(all[i].id));
		for (size_t j = 0; j < n; j++) /* of one name one thing */
			assert_true((i == j || strcmp(all[i].id, all[j].id) != 0) &&
				    strcmp(all[i].id, all[j].class) != 0);
		for (size_t j = 0; j < N_ELEMENTS(rows); j++) {
			if (strcmp(rows[j].id, all[i].id) != 0)
				continue;
			found++;
			assert_int_equal(size, rows[j].size);
			assert_memory_equal(bytes, rows[j].begin, strlen(rows[j].begin));
			assert_memory_equal(bytes + size - strlen(rows[j].end), rows[j].end,
					    strlen(rows[j].end));
		}
	}
	assert_int_equal(found, N_ELEMENTS(rows));
}

/* What reads what a user gives refuses all of them, or takes them as what they are. */
static void hostile_inputs_do_nothing_to_our_own_parsers(void **state)
{
	size_t n;
	const struct mr_hostile *all = mr_hostile_rows(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		size_t size;
		mr_auto_free char *bytes = mr_hostile_build(&all[i], &size);
		struct mr_error err = MR_ERROR_INIT;
		struct mr_spec spec;
		struct mr_mock mock;
		uint32_t mask;

		mr_spec_init(&spec);
		assert_true(mr_spec_parse_json(&spec, bytes, size, all[i].id, &err) < 0);
		assert_true(err.msg[0] != '\0' && strlen(err.msg) < sizeof(err.msg));
		mr_spec_deinit(&spec);
		mr_spec_init(&spec);
		assert_true(mr_preset_apply_json(&spec, bytes, size, all[i].id, MR_ORIGIN_PRESET,
						 &err) < 0);
		mr_spec_set_assignment(&spec, bytes, &err);
		for (size_t id = 0; id < MR_FIELD_COUNT_; id++)
			mr_spec_set_text(&spec, (enum mr_field_id)id, bytes, false, MR_ORIGIN_SET,
					 &err);
		mr_spec_validate(&spec, &err);
		mr_spec_deinit(&spec);
		if (mr_failures_parse(bytes, &mask, &err) == 0)
			assert_int_equal(mask, 0);
		if (mr_mock_parse(bytes, &mock, &err) == 0)
			mr_mock_deinit(&mock);
	}
}

static void a_hostile_input_is_chosen_by_id_or_class(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_int_equal(mr_spec_set_assignment(spec, "failure.hostile=json-dep", &err), -EINVAL);
	assert_string_equal(err.msg, "failure.hostile: unknown input \"json-dep\"; did you mean "
				     "\"json-deep\"?");
	set(spec, "failure.hostile=numeric");
	assert_invalid(spec, "failure.hostile: is for the failure mode hostile_input alone "
			     "(failure.modes, FAILURE_MODES)");
	set(spec, "failure.modes=malicious_data");
	assert_int_equal(mr_spec_validate(spec, &err), 0);
	assert_int_equal(mr_spec_failures(spec), MR_FAILURE_BIT(MR_FAILURE_hostile_input));
	set(spec, "sandbox.tty=1");
	assert_invalid(spec,
		       "failure.modes: hostile_input: with a terminal (--tty) the input comes "
		       "from it; leave it out, or accept that with best_effort (--best-effort "
		       "FAILURE_MODES)");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(names_are_read_in_any_order_and_printed_in_one),
		TEST(names_that_are_none_are_refused),
		TEST(each_mode_needs_what_it_acts_on),
		TEST(a_request_that_cannot_be_is_refused_unless_it_is_accepted),
		TEST(a_memory_limit_must_leave_something),
		TEST(knobs_belong_to_their_modes),
		TEST(a_preset_sets_them),
		TEST(flags_of_misuse_are_the_mode),
		TEST(unexpected_input_is_drift),
		TEST(seconds_are_drawn_by_the_seed),
		TEST(hostile_inputs_are_what_they_say),
		TEST(hostile_inputs_do_nothing_to_our_own_parsers),
		TEST(a_hostile_input_is_chosen_by_id_or_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
