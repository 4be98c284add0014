/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learned: from what runs used to a policy
 */
#include <errno.h>
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
#include "runtime/spec/policy.h"
#include "tools/learned.h"

/* A result with these members of "access". */
static json_t *result_of(const char *access)
{
	mr_auto_free char *text = mr_str_format("{\"reason\": \"exited\", \"usage\": {\"wall_us\": "
						"1500000, \"cpu\": {\"usage_us\": "
						"10}, \"memory\": {\"peak_bytes\": 5000000}, "
						"\"pids\": {\"peak\": 3}},"
						"\"access\": {\"complete\": true, %s}}",
						access);
	struct mr_error err = MR_ERROR_INIT;
	json_t *json = NULL;

	if (mr_json_parse(text, strlen(text), "r", &json, &err) < 0)
		fail_msg("%s", err.msg);
	return json;
}

static void add(struct mr_learned *learned, const char *access)
{
	mr_auto_json json_t *result = result_of(access);
	struct mr_error err = MR_ERROR_INIT;

	if (mr_learned_add(learned, result, &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_paths(struct mr_learned *learned, size_t threshold, const char *expected)
{
	const struct mr_learned_opts opts = { .threshold = threshold,
					      .margin_percent = MR_LEARNED_MARGINS };
	mr_auto_json json_t *policy = mr_learned_policy(learned, &opts);
	mr_auto_free char *text = json_dumps(json_object_get(policy, "paths"), JSON_COMPACT);

	assert_string_equal(text, expected);
}

static void many_files_become_their_folder(void **state)
{
	struct mr_learned *learned = mr_learned_new();

	(void)state;
	add(learned, "\"paths\": [{\"path\": \"/d/c\", \"access\": [\"read\"]},"
		     "{\"path\": \"/d/a\", \"access\": [\"read\"]},"
		     "{\"path\": \"/d/a.d/x\", \"access\": [\"execute\"]},"
		     "{\"path\": \"/d/b\", \"access\": [\"write\"]}]");
	/* At the threshold, and over it. */
	assert_paths(learned, 3,
		     "[{\"path\":\"/d/a\",\"access\":[\"read\"]},"
		     "{\"path\":\"/d/a.d/x\",\"access\":[\"execute\"]},"
		     "{\"path\":\"/d/b\",\"access\":[\"write\"]},"
		     "{\"path\":\"/d/c\",\"access\":[\"read\"]}]");
	assert_paths(learned, 2,
		     "[{\"path\":\"/d/\",\"access\":[\"read\",\"write\"]},"
		     "{\"path\":\"/d/a.d/x\",\"access\":[\"execute\"]}]");
	mr_learned_free(learned);
}

static void what_a_folder_grants_is_left_out(void **state)
{
	struct mr_learned *learned = mr_learned_new();

	(void)state;
	add(learned, "\"paths\": [{\"path\": \"/tmp/\", \"access\": [\"execute\", \"make\"]},"
		     "{\"path\": \"/tmp/a\", \"access\": [\"read\"]},"
		     "{\"path\": \"/tmp/b\", \"access\": [\"write\"]},"
		     "{\"path\": \"/tmp/d/\", \"access\": [\"make\"]},"
		     "{\"path\": \"/\", \"access\": [\"list\"]}]");
	assert_paths(learned, 16,
		     "[{\"path\":\"/\",\"access\":[\"list\"]},"
		     "{\"path\":\"/tmp/\",\"access\":[\"execute\",\"make\"]},"
		     "{\"path\":\"/tmp/b\",\"access\":[\"write\"]}]");
	mr_learned_free(learned);
}

static void runs_are_put_together(void **state)
{
	const struct mr_learned_opts opts = { .threshold = 16, .margin_percent = 10 };
	struct mr_learned *learned = mr_learned_new();
	mr_auto_json json_t *policy = NULL;
	mr_auto_free char *text = NULL;

	(void)state;
	add(learned, "\"syscalls\": [\"write\"], \"hosts\": [{\"host\": \"::1\", \"port\": 1, "
		     "\"protocol\": \"tcp\"}], \"paths\": [{\"path\": \"/a\", \"access\": "
		     "[\"read\"]}], \"peak\": {\"disk_bytes\": 0}");
	add(learned, "\"syscalls\": [\"read\", \"write\"], \"paths\": [{\"path\": \"/a\", "
		     "\"access\": [\"write\"]}], \"peak\": {\"disk_bytes\": 1048577}");
	policy = mr_learned_policy(learned, &opts);
	text = json_dumps(policy, JSON_COMPACT);
	assert_string_equal(text,
			    "{\"schema\":\"menace.policy/1\",\"syscalls\":[\"read\",\"write\"],"
			    "\"paths\":[{\"path\":\"/a\",\"access\":[\"read\",\"write\"]}],"
			    "\"hosts\":[{\"host\":\"::1\",\"port\":1,\"protocol\":\"tcp\"}],"
			    "\"limits\":{\"memory_max_bytes\":{\"peak\":8388608,\"margin_percent\":"
			    "10},"
			    "\"cpu_time_ms\":{\"peak\":1000,\"margin_percent\":10},"
			    "\"wall_ms\":{\"peak\":2000,\"margin_percent\":10},"
			    "\"pids_max\":{\"peak\":3,\"margin_percent\":10},"
			    "\"disk_bytes\":{\"peak\":2097152,\"margin_percent\":10}}}");
	assert_string_equal(mr_learned_unknown(learned, 0), "limits.nofile");
	assert_null(mr_learned_unknown(learned, 1));
	mr_learned_free(learned);
}

static void nothing_is_learned_from(const char *text, const char *message)
{
	struct mr_learned *learned = mr_learned_new();
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *result = NULL;

	assert_int_equal(mr_json_parse(text, strlen(text), "r", &result, &err), 0);
	assert_true(mr_learned_add(learned, result, &err) < 0);
	assert_string_equal(err.msg, message);
	mr_learned_free(learned);
}

static void half_a_run_is_refused(void **state)
{
	(void)state;
	nothing_is_learned_from("{\"reason\": \"wall_timeout\"}",
				"the run did not end by itself (wall_timeout): no policy can be "
				"learned from it");
	nothing_is_learned_from("{\"reason\": \"setup_error\", \"error\": {\"message\": \"why\"}}",
				"the run did not end by itself (setup_error: why): no policy can "
				"be learned from it");
	nothing_is_learned_from("{\"reason\": \"exited\"}",
				"the result has no record of what was used");
	nothing_is_learned_from("{\"reason\": \"exited\", \"access\": {\"complete\": false}}",
				"not all paths and hosts that the program used could be recorded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_files_become_their_folder),
		cmocka_unit_test(what_a_folder_grants_is_left_out),
		cmocka_unit_test(runs_are_put_together),
		cmocka_unit_test(half_a_run_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
