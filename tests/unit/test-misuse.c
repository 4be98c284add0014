/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Misuse: which words of a request are the user's to get wrong
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/misuse.h"

static void an_interpreter_keeps_what_it_runs(void **state)
{
	static const struct {
		const char *argv[8];
		size_t first;
	} rows[] = {
		{ { "./tool", "a" }, 1 },
		{ { "/usr/bin/python3.11", "app.py", "a" }, 2 },
		{ { "python3", "-u", "-W", "ignore", "app.py", "a" }, 5 },
		{ { "python3", "-m", "app", "a" }, 3 },
		{ { "python3", "-c", "print(1)", "a" }, 3 },
		{ { "sh", "-c", "echo $*", "sh", "a" }, 4 },
		{ { "bash", "run.sh" }, 2 },
		{ { "java", "-cp", "x", "-jar", "app.jar", "a" }, 5 },
		{ { "python3" }, 2 }, /* nothing of its own: beyond the end */
		{ { "shellish", "a" }, 1 },
		{ { "pythonic", "a" }, 1 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_spec spec;

		mr_spec_init(&spec);
		for (size_t j = 0; rows[i].argv[j]; j++)
			mr_strv_add(&spec.argv, rows[i].argv[j]);
		assert_int_equal(mr_misuse_first_own(&spec), rows[i].first);
		spec.snippet_path = mr_str_dup("/x.py");
		assert_int_equal(mr_misuse_first_own(&spec), 0);
		mr_spec_deinit(&spec);
	}
}

static void a_path_is_one_of_the_workspace(void **state)
{
	static const struct {
		const char *argument, *path;
	} rows[] = {
		{ "data.csv", "data.csv" },
		{ "./a//b/", "a/b" },
		{ "/work/a/b", "a/b" },
		{ "--in=a.csv", "a.csv" },
		{ "--in=/work/a.csv", "a.csv" },
		{ "a=b", "a=b" },
		{ "-v", NULL },
		{ "", NULL },
		{ ".", NULL },
		{ "/work", NULL },
		{ "/etc/passwd", NULL },
		{ "/workshop/a", NULL },
		{ "../work/a", NULL },
		{ "a/../b", NULL },
		{ "--in=../a", NULL },
		{ "-", NULL },
	};
	struct mr_spec spec;

	(void)state;
	mr_spec_init(&spec);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_free char *path = mr_misuse_path(&spec, rows[i].argument);

		if (rows[i].path)
			assert_string_equal(path, rows[i].path);
		else
			assert_null(path);
	}
	mr_spec_deinit(&spec);
}

static void a_configuration_is_known_by_its_name(void **state)
{
	(void)state;
	assert_true(mr_misuse_is_configuration("app.json"));
	assert_true(mr_misuse_is_configuration("a.b.toml"));
	assert_true(mr_misuse_is_configuration(".env"));
	assert_false(mr_misuse_is_configuration(".json"));
	assert_false(mr_misuse_is_configuration("json"));
	assert_false(mr_misuse_is_configuration("data.csv"));
	assert_false(mr_misuse_is_configuration("main.py"));
}

static void a_wrong_value_is_another(void **state)
{
	(void)state;
	assert_string_equal(mr_misuse_wrong_value("80"), "not_a_number");
	assert_string_equal(mr_misuse_wrong_value("-0.5"), "not_a_number");
	assert_string_equal(mr_misuse_wrong_value("-"), "123");
	assert_string_equal(mr_misuse_wrong_value("text"), "123");
	assert_string_equal(mr_misuse_wrong_value(""), "123");
	assert_string_equal(mr_misuse_wrong_value("123"), "not_a_number");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interpreter_keeps_what_it_runs),
		cmocka_unit_test(a_path_is_one_of_the_workspace),
		cmocka_unit_test(a_configuration_is_known_by_its_name),
		cmocka_unit_test(a_wrong_value_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
