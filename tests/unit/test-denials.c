/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Denials: rows, sums, bounds, hostile text
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/json.h"
#include "runtime/supervise/denials.h"

static const struct mr_denial mount_denial = {
	.layer = MR_DENIAL_SECCOMP,
	.what = "mount",
	.object = "/mnt",
	.errnum = EPERM,
	.pid = 42,
	.comm = "sh",
	.rule = "mount",
	.reason = "changes what paths mean",
	.allow = "--level 1",
	.time_ns = 1000,
};

static char *dump(json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);

	assert_non_null(text);
	return text;
}

static void expect_json(const struct mr_denials *tbl, const char *want)
{
	mr_auto_json json_t *json = mr_denials_to_json(tbl);
	char *text = dump(json);

	assert_string_equal(text, want);
	free(text);
}

static void expect_row(const struct mr_denials *tbl, size_t i, const char *want)
{
	mr_auto_json json_t *json = mr_denials_to_json(tbl);
	char *text = dump(json_array_get(json_object_get(json, "rows"), i));

	assert_string_equal(text, want);
	free(text);
}

static json_int_t get_number(const struct mr_denials *tbl, const char *key)
{
	mr_auto_json json_t *json = mr_denials_to_json(tbl);

	return json_integer_value(json_object_get(json, key));
}

static void an_empty_table(void **state)
{
	struct mr_denials tbl;

	(void)state;
	mr_denials_init(&tbl);
	expect_json(&tbl, "{\"by_layer\":{\"landlock\":0,\"limits\":0,\"mount\":0,\"network\":0,"
			  "\"seccomp\":0},\"dropped\":0,\"overflow\":[],\"rows\":[],\"total\":0}");
	mr_denials_deinit(&tbl);
	mr_denials_deinit(&tbl);
}

static void equal_denials_are_one_row(void **state)
{
	struct mr_denials tbl;
	struct mr_denial d = mount_denial;

	(void)state;
	mr_denials_init(&tbl);
	mr_denials_add(&tbl, &d);
	d.time_ns = 2000;
	d.pid = 43;
	mr_denials_add(&tbl, &d);
	expect_json(
		&tbl,
		"{\"by_layer\":{\"landlock\":0,\"limits\":0,\"mount\":0,\"network\":0,"
		"\"seccomp\":2},\"dropped\":0,\"overflow\":[],\"rows\":[{\"allow\":\"--level 1\","
		"\"comm\":\"sh\",\"count\":2,\"errno\":{\"name\":\"EPERM\",\"number\":1},"
		"\"first_ns\":1000,\"layer\":\"seccomp\",\"object\":\"/mnt\",\"pid\":42,"
		"\"reason\":\"changes what paths mean\",\"rule\":\"mount\",\"what\":\"mount\"}],"
		"\"total\":2}");
	mr_denials_deinit(&tbl);
}

static void each_part_of_the_key_makes_a_row(void **state)
{
	struct mr_denials tbl;
	struct mr_denial d = mount_denial;

	(void)state;
	mr_denials_init(&tbl);
	mr_denials_add(&tbl, &d);
	d.layer = MR_DENIAL_MOUNT;
	mr_denials_add(&tbl, &d);
	d.what = "umount2";
	mr_denials_add(&tbl, &d);
	d.object = "/mnt2";
	mr_denials_add(&tbl, &d);
	d.object = NULL;
	mr_denials_add(&tbl, &d);
	d.object = "";
	mr_denials_add(&tbl, &d);
	d.comm = "bash";
	mr_denials_add(&tbl, &d);
	assert_int_equal(tbl.n_rows, 7);
	assert_int_equal(mr_denials_of_layer(&tbl, MR_DENIAL_MOUNT), 6);
	assert_int_equal(mr_denials_of_layer(&tbl, MR_DENIAL_SECCOMP), 1);
	mr_denials_deinit(&tbl);
}

static void what_is_not_known_is_null(void **state)
{
	struct mr_denials tbl;
	struct mr_denial d = { .layer = MR_DENIAL_LIMITS, .what = "pids" };

	(void)state;
	mr_denials_init(&tbl);
	mr_denials_add(&tbl, &d);
	expect_row(&tbl, 0,
		   "{\"allow\":null,\"comm\":null,\"count\":1,\"errno\":null,\"first_ns\":0,"
		   "\"layer\":\"limits\",\"object\":null,\"pid\":null,\"reason\":null,"
		   "\"rule\":null,\"what\":\"pids\"}");
	d.errnum = 4000;
	d.comm = "x";
	mr_denials_add(&tbl, &d);
	expect_row(&tbl, 1,
		   "{\"allow\":null,\"comm\":\"x\",\"count\":1,\"errno\":{\"name\":null,"
		   "\"number\":4000},\"first_ns\":0,\"layer\":\"limits\",\"object\":null,"
		   "\"pid\":null,\"reason\":null,\"rule\":null,\"what\":\"pids\"}");
	mr_denials_deinit(&tbl);
}

static void hostile_text_is_safe_and_exact(void **state)
{
	struct mr_denials tbl;
	struct mr_denial d = { .layer = MR_DENIAL_LANDLOCK,
			       .what = "open",
			       .object = "/tmp/\xff\n\\\"",
			       .comm = "\xfe" };

	(void)state;
	mr_denials_init(&tbl);
	mr_denials_add(&tbl, &d);
	expect_row(&tbl, 0,
		   "{\"allow\":null,\"comm\":\"\\\\xfe\",\"comm_base64\":\"/g==\",\"count\":1,"
		   "\"errno\":null,\"first_ns\":0,\"layer\":\"landlock\","
		   "\"object\":\"/tmp/\\\\xff\\n\\\\\\\\\\\"\","
		   "\"object_base64\":\"L3RtcC//Clwi\",\"pid\":null,\"reason\":null,"
		   "\"rule\":null,\"what\":\"open\"}");
	mr_denials_deinit(&tbl);
}

static void texts_are_bounded(void **state)
{
	char object[MR_DENIAL_MAX_OBJECT + 3];
	struct mr_denials tbl;
	struct mr_denial d = { .layer = MR_DENIAL_LANDLOCK,
			       .what = "open",
			       .object = object,
			       .comm = "0123456789abcdefXYZ" };

	(void)state;
	memset(object, 'a', sizeof(object));
	object[MR_DENIAL_MAX_OBJECT] = '\0';
	mr_denials_init(&tbl);
	mr_denials_add(&tbl, &d);
	/* one more byte is another object; two more are cut to the same text and are one row */
	memcpy(object + MR_DENIAL_MAX_OBJECT - 1, "\xc3\xa9", 3);
	mr_denials_add(&tbl, &d);
	mr_denials_add(&tbl, &d);
	assert_int_equal(tbl.n_rows, 2);
	{
		mr_auto_json json_t *json = mr_denials_to_json(&tbl);
		json_t *rows = json_object_get(json, "rows");
		json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);

		assert_int_equal(json_string_length(json_object_get(first, "object")),
				 MR_DENIAL_MAX_OBJECT);
		assert_null(json_object_get(first, "object_truncated"));
		assert_string_equal(json_string_value(json_object_get(first, "comm")),
				    "0123456789abcdef");
		/* the character that the bound cuts is left out: still text */
		assert_int_equal(json_string_length(json_object_get(second, "object")),
				 MR_DENIAL_MAX_OBJECT - 1);
		assert_null(json_object_get(second, "object_base64"));
		assert_true(json_is_true(json_object_get(second, "object_truncated")));
		assert_int_equal(json_integer_value(json_object_get(second, "count")), 2);
	}
	mr_denials_deinit(&tbl);
}

static void flood(struct mr_denials *tbl, size_t from, size_t n)
{
	struct mr_denial d = { .layer = MR_DENIAL_LANDLOCK, .what = "open", .comm = "flood" };
	char object[32];

	for (size_t i = from; i < from + n; i++) {
		snprintf(object, sizeof(object), "/x/%zu", i);
		d.object = object;
		mr_denials_add(tbl, &d);
	}
}

static void rows_are_bounded_and_sums_exact(void **state)
{
	struct mr_denials tbl;

	(void)state;
	mr_denials_init(&tbl);
	flood(&tbl, 0, 255);
	assert_int_equal(tbl.n_rows, 255);
	flood(&tbl, 255, 1);
	assert_int_equal(tbl.n_rows, 256);
	assert_int_equal(get_number(&tbl, "dropped"), 0);
	flood(&tbl, 256, 1);
	assert_int_equal(tbl.n_rows, 256);
	assert_int_equal(get_number(&tbl, "dropped"), 1);
	flood(&tbl, 257, 10000);
	flood(&tbl, 0, 256); /* rows that are there go on counting */
	assert_int_equal(get_number(&tbl, "dropped"), 10001);
	assert_int_equal(mr_denials_total(&tbl), 257 + 10000 + 256);
	mr_denials_deinit(&tbl);
}

static void a_flood_does_not_hide_another_kind(void **state)
{
	struct mr_denials tbl;

	(void)state;
	mr_denials_init(&tbl);
	flood(&tbl, 0, 300);
	mr_denials_add(&tbl, &mount_denial);
	mr_denials_add(&tbl, &mount_denial);
	{
		mr_auto_json json_t *json = mr_denials_to_json(&tbl);
		char *text = dump(json_object_get(json, "overflow"));

		assert_string_equal(text,
				    "[{\"count\":44,\"layer\":\"landlock\",\"what\":\"open\"},"
				    "{\"count\":2,\"layer\":\"seccomp\",\"what\":\"mount\"}]");
		free(text);
	}
	mr_denials_deinit(&tbl);
}

static void what_was_lost_is_in_the_sums(void **state)
{
	struct mr_denials tbl = { 0 };
	char *text;
	json_t *json;

	(void)state;
	mr_denials_lose(&tbl, MR_DENIAL_NETWORK, "connect", 0);
	assert_int_equal(tbl.n_overflow, 0);
	mr_denials_lose(&tbl, MR_DENIAL_NETWORK, "connect", 40);
	mr_denials_lose(&tbl, MR_DENIAL_NETWORK, "connect", 2);
	mr_denials_lose(&tbl, MR_DENIAL_NETWORK, "untold", 1);
	assert_int_equal(mr_denials_total(&tbl), 43);
	assert_int_equal(mr_denials_of_layer(&tbl, MR_DENIAL_NETWORK), 43);
	assert_int_equal(tbl.dropped, 43);
	json = mr_denials_to_json(&tbl);
	text = dump(json_object_get(json, "overflow"));
	assert_string_equal(text, "[{\"count\":42,\"layer\":\"network\",\"what\":\"connect\"},"
				  "{\"count\":1,\"layer\":\"network\",\"what\":\"untold\"}]");
	free(text);
	json_decref(json);
	mr_denials_deinit(&tbl);
}

static void the_overflow_is_bounded_too(void **state)
{
	struct mr_denials tbl;
	struct mr_denial d = { .layer = MR_DENIAL_SECCOMP };
	char what[32];

	(void)state;
	mr_denials_init(&tbl);
	d.what = what;
	for (int i = 0; i < 1000; i++) {
		snprintf(what, sizeof(what), "call%d", i);
		mr_denials_add(&tbl, &d);
	}
	assert_int_equal(tbl.n_overflow, MR_DENIALS_MAX_OVERFLOW);
	assert_int_equal(get_number(&tbl, "dropped"), 744);
	assert_int_equal(mr_denials_of_layer(&tbl, MR_DENIAL_SECCOMP), 1000);
	mr_denials_deinit(&tbl);
}

static void layers_have_names(void **state)
{
	(void)state;
	assert_string_equal(mr_denials_layer_name(MR_DENIAL_SECCOMP), "seccomp");
	assert_string_equal(mr_denials_layer_name(MR_DENIAL_LIMITS), "limits");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table),
		cmocka_unit_test(equal_denials_are_one_row),
		cmocka_unit_test(each_part_of_the_key_makes_a_row),
		cmocka_unit_test(what_is_not_known_is_null),
		cmocka_unit_test(hostile_text_is_safe_and_exact),
		cmocka_unit_test(texts_are_bounded),
		cmocka_unit_test(rows_are_bounded_and_sums_exact),
		cmocka_unit_test(a_flood_does_not_hide_another_kind),
		cmocka_unit_test(what_was_lost_is_in_the_sums),
		cmocka_unit_test(the_overflow_is_bounded_too),
		cmocka_unit_test(layers_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
