/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learn: what each step was worth, worked out by hand, is what the policy says; and what cannot be
 * told apart is not learned from
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/preset_learn.h"
#include "runtime/scenario/preset_policy.h"

#define MIB 1048576
#define AGAIN "0,0,0,0,0,0,0"
#define BETTER "1,0,0,0,0,-1,0" /* it succeeds, with less of its limit */
#define WORSE "-1,0,0,0,0,1,0"

/* One that needs 128 MiB and half of a processor. */
static void add(struct mr_preset_learner *learner, unsigned int limit_mib, const char *more)
{
	const bool dies = limit_mib <= 128;
	mr_auto_free char *text = mr_str_format(
		"{\"schema\": \"menace.result/1\", \"reason\": \"%s\", \"exit\": {\"status\": %d},"
		" \"usage\": {\"wall_us\": 1000, \"cpu\": {\"usage_us\": 500},"
		" \"memory\": {\"peak_bytes\": %d}},"
		" \"limits\": {\"cpus\": 1, \"memory_max_bytes\": %u}%s}",
		dies ? "oom" : "exited", dies ? 137 : 0, 128 * MIB, limit_mib * MIB, more);
	mr_auto_json json_t *result = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_json root;

	if (mr_json_parse(text, strlen(text), "t", &result, &err) < 0)
		fail_msg("%s", err.msg);
	root = mr_json_root(result, "t");
	if (mr_preset_learner_add(learner, &root, &err) < 0)
		fail_msg("%s", err.msg);
}

static double value_of(struct mr_preset_learner *learner, const char *state, const char *action)
{
	mr_auto_json json_t *policy = mr_preset_learner_policy(learner);
	json_t *value = json_object_get(mr_preset_policy_values(policy, state), action);

	if (!value)
		fail_msg("%s is not known in the state %s", action, state);
	return json_number_value(value);
}

static size_t count_states(struct mr_preset_learner *learner)
{
	mr_auto_json json_t *policy = mr_preset_learner_policy(learner);

	return json_object_size(json_object_get(policy, "states"));
}

static const struct mr_preset_learn_opts opts = { .rate = 0.5, .discount = 0.9 };

static void steps_are_worth_what_they_brought(void **state)
{
	struct mr_preset_learner *learner = mr_preset_learner_new(&opts);

	(void)state;
	add(learner, 128, "");
	add(learner, 128, "");
	assert_int_equal(count_states(learner), 0);
	add(learner, 256, ""); /* success +1, share of memory from 1 to 1/2 */
	assert_float_equal(value_of(learner, AGAIN, "memory+"), 0.5 * 1.5, 1e-12);
	assert_float_equal(value_of(learner, AGAIN, "none"), 0, 1e-12);
	add(learner, 128, "");
	assert_float_equal(value_of(learner, BETTER, "memory-"), 0.5 * -1.5, 1e-12);
	add(learner, 256, "");
	assert_float_equal(value_of(learner, WORSE, "memory+"), 0.5 * 1.5, 1e-12);
	add(learner, 256, ""); /* nothing was done, and nothing changed */
	assert_float_equal(value_of(learner, BETTER, "none"), 0.5 * 0.9 * 0.75, 1e-12);
	/* What comes later counts: the best of this state is worth that much now. */
	add(learner, 128, "");
	assert_float_equal(value_of(learner, AGAIN, "memory-"), 0.5 * (-1.5 + 0.9 * 0.75), 1e-12);
	learner = mr_preset_learner_free(learner);
}

static void histories_are_apart(void **state)
{
	struct mr_preset_learner *learner = mr_preset_learner_new(&opts);
	struct mr_preset_learned told;

	(void)state;
	add(learner, 128, "");
	add(learner, 128, "");
	mr_preset_learner_begin(learner);
	add(learner, 256, "");
	add(learner, 256, "");
	assert_int_equal(count_states(learner), 0);
	mr_preset_learner_tell(learner, &told);
	assert_int_equal(told.histories, 2);
	assert_int_equal(told.runs, 4);
	assert_int_equal(told.steps, 0);
	learner = mr_preset_learner_free(learner);
}

static void several_changes_at_once_teach_nothing(void **state)
{
	static const char slow[] =
		", \"receipt\": {\"network\": {\"shaping\": {\"applied\": {\"rate\": 1000}}}}";
	struct mr_preset_learner *learner = mr_preset_learner_new(&opts);
	struct mr_preset_learned told;

	(void)state;
	add(learner, 128, "");
	add(learner, 128, "");
	add(learner, 256, slow);
	mr_preset_learner_tell(learner, &told);
	assert_int_equal(told.several, 1);
	assert_int_equal(told.steps, 0);
	assert_int_equal(count_states(learner), 0);
	/* What has no limit has more than any. */
	add(learner, 256, "");
	assert_float_equal(value_of(learner, BETTER, "bandwidth+"), 0, 1e-12);
	learner = mr_preset_learner_free(learner);
}

static void what_is_known_is_gone_on_from(void **state)
{
	struct mr_preset_learner *first = mr_preset_learner_new(&opts), *second;
	struct mr_preset_learn_opts more = opts;
	mr_auto_json json_t *policy = NULL;

	(void)state;
	add(first, 128, "");
	add(first, 128, "");
	add(first, 256, "");
	policy = mr_preset_learner_policy(first);
	first = mr_preset_learner_free(first);
	more.policy = policy;
	second = mr_preset_learner_new(&more);
	add(second, 128, "");
	add(second, 128, "");
	add(second, 256, "");
	assert_float_equal(value_of(second, AGAIN, "memory+"), 0.75 + 0.5 * (1.5 - 0.75), 1e-12);
	second = mr_preset_learner_free(second);
	/* Who gave it keeps it as it was. */
	assert_float_equal(json_number_value(json_object_get(mr_preset_policy_values(policy, AGAIN),
							     "memory+")),
			   0.75, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_worth_what_they_brought),
		cmocka_unit_test(histories_are_apart),
		cmocka_unit_test(several_changes_at_once_teach_nothing),
		cmocka_unit_test(what_is_known_is_gone_on_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
