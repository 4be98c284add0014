/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections: which are chosen, what is asked of the driver, how a run is judged, which files are looked at,
 * and what is kept of them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/outfile.h"
#include "runtime/base/str.h"
#include "runtime/flow/output.h"
#include "runtime/section/cache.h"
#include "runtime/section/choose.h"
#include "runtime/section/judge.h"
#include "runtime/section/request.h"
#include "runtime/section/walk.h"

#define ROW(name, kind, more)                                                                   \
	"{\"name\": \"" name "\", \"kind\": \"" kind "\", \"first\": 1, \"last\": 1, "          \
	"\"hints\": [], \"sha256\": \"\", \"shadowed\": false, \"decorators\": [], \"reach\": " \
	"[]" more "}"
#define PARAMETER(name, stub)                                                          \
	"{\"name\": \"" name "\", \"kind\": \"positional_or_keyword\", \"required\": " \
	"true, \"stub\": " stub "}"
static const char scan_text[] =
	"{\"folder\": \"/r\", \"files\": [{\"path\": \"a.py\", \"sections\": [" ROW("", "module", "") "," ROW("load", "function", ", \"parameters\": [" PARAMETER("path", "\"str\"") "]") "," ROW(
		"save", "function",
		", \"parameters\": [" PARAMETER(
			"to",
			"null") "]") "," ROW("C", "class",
					     "") "," ROW("C.__init__", "method",
							 ", \"parameters\": [" PARAMETER("self", "\"any\"") "," PARAMETER(
								 "n",
								 "\"int\"") "]") "," ROW("C.m",
											 "method",
											 ", "
											 "\"paramet"
											 "ers\": "
											 "[" PARAMETER(
												 "s"
												 "e"
												 "l"
												 "f",
												 "\"any\"") "]") "," ROW("f.<locals>.g",
															 "nested",
															 "") "]}, {\"path\": \"bad.py\", \"error\": {\"line\": 1, "
															     "\"message\": \"x\"}}]}";

static json_t *load(const char *text)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(json);
	return json;
}

/* The ids with spaces between, and what is passed by behind "|"; or the message. */
static char *choose(char **names, const char *const *match, size_t n_match)
{
	const struct mr_section_choice choice = { .names = names,
						  .match = match,
						  .n_match = n_match };
	mr_auto_json json_t *scan = load(scan_text);
	mr_auto_json json_t *chosen = NULL;
	mr_auto_json json_t *passed_by = NULL;
	struct mr_error err = MR_ERROR_INIT;
	char buf[600];
	struct mr_str told;

	if (mr_section_choose(scan, &choice, &chosen, &passed_by, &err) < 0)
		return mr_str_dup(err.msg);
	mr_str_init(&told, buf, sizeof(buf));
	for (size_t i = 0; i < json_array_size(chosen); i++)
		mr_str_printf(&told, "%s ", mr_json_text_or_empty(json_array_get(chosen, i), "id"));
	for (size_t i = 0; i < json_array_size(passed_by); i++)
		mr_str_printf(&told, "|%s",
			      mr_json_text_or_empty(json_array_get(passed_by, i), "section"));
	return mr_str_dup(buf);
}

static void names_patterns_and_all(void **state)
{
	static const struct {
		const char *name, *match, *expected;
	} cases[] = {
		{ NULL, NULL, "a.py:load a.py:C.m |a.py:save" },
		{ "a.py:C", NULL, "a.py:C " },
		{ "a.py", NULL, "a.py " },
		{ NULL, "a.py:C*", "a.py:C a.py:C.__init__ a.py:C.m " },
		{ "a.py:lod", NULL, "there is no section \"a.py:lod\"; did you mean a.py:load?" },
		{ "zzzzzzzzzzzzzzz", NULL,
		  "there is no section \"zzzzzzzzzzzzzzz\"; menace sections scan /r lists them" },
		{ "a.py:save", NULL,
		  "section a.py:save cannot be run: no stub is made for its parameter to" },
		{ "a.py:f.<locals>.g", NULL,
		  "section a.py:f.<locals>.g cannot be run: it is within a function: only that "
		  "one can call it" },
		{ NULL, "b*", "no section matches \"b*\"; menace sections scan /r lists them" },
		{ NULL, "a.py:s*",
		  "none of the 1 sections that are meant can be run; the first is a.py:save: no "
		  "stub is made for its parameter to" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		mr_auto_free char *name = cases[i].name ? mr_str_dup(cases[i].name) : NULL;
		char *names[] = { name, NULL };
		mr_auto_free char *told = choose(names, &cases[i].match, cases[i].match != NULL);

		assert_string_equal(told, cases[i].expected);
	}
}

/* Each class has the __init__ that counts, and so many sections are not run unasked. */
static void many_sections_are_chosen_in_no_time_and_not_run(void **state)
{
	static const char *const every[] = { "*.m" };
	char *names[] = { NULL };
	const struct mr_section_choice choice = { .names = names, .match = every, .n_match = 1 };
	mr_auto_json json_t *sections = json_array();
	mr_auto_json json_t *scan = NULL;
	mr_auto_json json_t *chosen = NULL;
	mr_auto_json json_t *passed_by = NULL;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (int i = 0; i <= MR_SECTION_RUNS_MAX; i++) {
		static const struct {
			const char *name;
			bool shadowed;
		} rows[] = { { ".__init__", true }, { ".__init__#2", false }, { ".m", false } };

		for (size_t k = 0; k < N_ELEMENTS(rows); k++) {
			char name[32];

			snprintf(name, sizeof(name), "C%d%s", i, rows[k].name);
			json_array_append_new(sections,
					      json_pack("{s:s, s:s, s:b, s:i}", "name", name,
							"kind", "method", "shadowed",
							rows[k].shadowed, "first", i));
		}
	}
	scan = json_pack("{s:s, s:[{s:s, s:O}]}", "folder", "/r", "files", "path", "a.py",
			 "sections", sections);
	assert_int_equal(mr_section_choose(scan, &choice, &chosen, &passed_by, &err), -E2BIG);
	assert_string_equal(err.msg, "10001 sections are chosen, over 10000; choose fewer with "
				     "--match or by their names");
	json_array_remove(sections, 0);
	json_array_remove(sections, 0);
	json_array_remove(sections, 0);
	assert_int_equal(mr_section_choose(scan, &choice, &chosen, &passed_by, &err), 0);
	assert_int_equal(json_array_size(chosen), MR_SECTION_RUNS_MAX);
	assert_string_equal(json_string_value(mr_json_at(json_array_get(chosen, 6), "construct",
							 "name", NULL)),
			    "C7.__init__#2");
}

static json_t *choose_one(const char *id)
{
	mr_auto_free char *name = mr_str_dup(id);
	char *names[] = { name, NULL };
	const struct mr_section_choice choice = { .names = names };
	mr_auto_json json_t *scan = load(scan_text);
	mr_auto_json json_t *chosen = NULL;
	mr_auto_json json_t *passed_by = NULL;
	struct mr_error err = MR_ERROR_INIT;

	assert_int_equal(mr_section_choose(scan, &choice, &chosen, &passed_by, &err), 0);
	return json_incref(json_array_get(chosen, 0));
}

static void a_method_gets_an_object(void **state)
{
	const struct mr_input_opts opts = { .seed = 7 };
	mr_auto_json json_t *chosen = choose_one("a.py:C.m");
	mr_auto_json json_t *request = NULL;
	mr_auto_json json_t *inputs = NULL;
	struct mr_error err = MR_ERROR_INIT;
	json_t *n;

	(void)state;
	assert_int_equal(mr_section_request(chosen, &opts, &request, &inputs, &err), 0);
	assert_int_equal(json_array_size(json_object_get(request, "arguments")), 0);
	assert_int_equal(json_array_size(json_object_get(request, "construct")), 1);
	n = json_array_get(json_object_get(request, "construct"), 0);
	assert_string_equal(mr_json_text_or_empty(n, "name"), "n");
	assert_true(json_is_integer(json_object_get(n, "value")));
	assert_int_equal(json_array_size(inputs), 1);
	assert_string_equal(mr_json_text_or_empty(json_array_get(inputs, 0), "step"), "a.py:C.m");
}

/* --- judging ---------------------------------------------------------------- */

static json_t *make_result(const char *said, int status)
{
	return json_pack("{s:s, s:{s:i, s:n}, s:{s:s}, s:{s:s}, s:{s:{s:i}, s:[]}, s:{s:{s:I}}, "
			 "s:{s:{s:{s:i}, s:[]}}, s:{s:[{s:i, s:s}, {s:i, s:s}]}}",
			 "reason", "exited", "exit", "status", status, "signal", "stdout", "text",
			 said, "stderr", "text", "", "denials", "by_layer", "network", 0, "rows",
			 "usage", "disk", "used_bytes", (json_int_t)0, "workspace", "changes",
			 "counts", "added", 0, "entries", "telemetry", "processes", "inner_pid", 1,
			 "comm", "init", "inner_pid", 2, "exe", "/usr/bin/python3");
}

static void the_programs_word_is_not_the_end(void **state)
{
#define GOOD "{\"state\": \"returned\", \"type\": \"int\", \"value\": \"1\"}\n"
	static const struct {
		const char *said;
		int status;
		const char *state, *outcome;
	} cases[] = {
		{ GOOD, 0, "returned", "returned" },
		{ GOOD, 1, "ended", "returned" },
		{ GOOD GOOD, 0, "ended", "unknown" },
		{ "", 0, "ended", "unknown" },
		{ "{\"state\": \"returned\"}", 0, "ended", "unknown" },
		{ "{\"state\": \"passed\"}\n", 0, "ended", "unknown" },
		{ "[1]\n", 0, "ended", "unknown" },
		{ "{\"state\": \"returned\", \"said_by\": \"kernel\", \"reason\": 1}\n", 0,
		  "returned", "returned" },
		{ "{\"state\": \"raised\"}\n", 0, "raised", "raised" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		mr_auto_json json_t *chosen = choose_one("a.py:load");
		mr_auto_json json_t *result = make_result(cases[i].said, cases[i].status);
		mr_auto_json json_t *row = NULL;

		assert_non_null(result);
		row = mr_section_judge(chosen, result, json_array());
		assert_string_equal(mr_json_text_or_empty(row, "state"), cases[i].state);
		assert_string_equal(json_string_value(mr_json_at(row, "outcome", "state", NULL)),
				    cases[i].outcome);
		assert_string_equal(json_string_value(mr_json_at(row, "outcome", "said_by", NULL)),
				    "program");
		assert_null(mr_json_at(row, "outcome", "reason", NULL));
	}
}

static json_t *judge_with(json_t *chosen, json_t *result, const char *reach)
{
	json_object_set_new(json_object_get(chosen, "section"), "reach", load(reach));
	return mr_section_judge(chosen, result, json_array());
}

static void what_is_seen_is_held_against_hints(void **state)
{
	mr_auto_json json_t *chosen = choose_one("a.py:load");
	mr_auto_json json_t *result = make_result(GOOD, 0);
	mr_auto_json json_t *row = judge_with(chosen, result, "[\"process\", \"write\"]");
	json_t *one;

	(void)state;
	/* Nothing was seen of what is hinted at. */
	assert_int_equal(json_array_size(json_object_get(row, "undeclared")), 0);
	assert_int_equal(json_array_size(json_object_get(row, "unused_hints")), 2);
	json_decref(row);

	/* A write outside of the folder, a process and a connection, of which one is hinted at. */
	json_object_set_new(mr_json_at(result, "usage", "disk", NULL), "used_bytes",
			    json_integer(4096));
	json_object_set_new(mr_json_at(result, "denials", "by_layer", NULL), "network",
			    json_integer(2));
	json_array_append_new(mr_json_at(result, "telemetry", "processes", NULL),
			      json_pack("{s:i, s:s}", "inner_pid", 3, "exe", "/bin/sh"));
	row = judge_with(chosen, result, "[\"process\"]");
	assert_int_equal(json_array_size(json_object_get(row, "undeclared")), 2);
	one = json_array_get(json_object_get(row, "undeclared"), 0);
	assert_string_equal(mr_json_text_or_empty(one, "kind"), "network");
	one = json_array_get(json_object_get(row, "undeclared"), 1);
	assert_string_equal(json_string_value(json_array_get(json_object_get(one, "what"), 0)),
			    "4096 bytes outside of the repository");
	assert_int_equal(json_array_size(json_object_get(row, "unused_hints")), 0);
	json_decref(row);

	/* In a container its first process is not listed, and the program has any number. */
	json_array_remove(mr_json_at(result, "telemetry", "processes", NULL), 0);
	json_object_set_new(json_array_get(mr_json_at(result, "telemetry", "processes", NULL), 0),
			    "inner_pid", json_integer(7));
	row = judge_with(chosen, result, "[]");
	assert_int_equal(json_integer_value(mr_json_at(row, "seen", "process", "count")), 1);
	json_decref(row);

	/* Where nobody looked nothing is said: neither seen nor unused. */
	json_object_del(result, "telemetry");
	json_object_del(result, "denials");
	json_object_del(result, "workspace");
	row = judge_with(chosen, result, "[\"process\", \"network\", \"write\"]");
	assert_true(json_is_null(mr_json_at(row, "seen", "process", "count")));
	assert_true(json_is_null(mr_json_at(row, "seen", "network", "count")));
	assert_true(json_is_null(mr_json_at(row, "seen", "write", "count")));
	assert_int_equal(json_array_size(json_object_get(row, "unused_hints")), 0);
}

static void a_sandbox_that_failed_is_no_failure_of_the_section(void **state)
{
	mr_auto_json json_t *chosen = choose_one("a.py:load");
	mr_auto_json json_t *result = make_result(GOOD, 0);
	mr_auto_json json_t *row = NULL;

	(void)state;
	json_object_set_new(result, "error", json_pack("{s:s}", "message", "no cgroups"));
	row = mr_section_judge(chosen, result, json_array());
	assert_string_equal(mr_json_text_or_empty(row, "state"), "error");
	assert_string_equal(mr_json_text_or_empty(row, "why"), "no cgroups");
	assert_null(json_object_get(row, "outcome"));
}

/* What is not text is told all the same, as text with escapes and as the bytes; and the end of too much. */
static void output_of_any_bytes_is_told(void **state)
{
	static const struct {
		const char *stream, *output, *base64;
	} cases[] = {
		{ "{\"encoding\": \"utf-8\", \"text\": \"a\\u00e4\"}", "a\xc3\xa4", NULL },
		{ "{\"encoding\": \"base64\", \"base64\": \"YWL/Yw==\"}", "ab\\xffc", "YWL/Yw==" },
		{ "{\"encoding\": \"utf-8\", \"head\": \"a\", \"tail\": \"b\"}", "b", NULL },
		{ "{\"encoding\": \"utf-8\", \"head\": \"a\", \"tail\": \"\"}", "a", NULL },
		{ "{\"encoding\": \"base64\", \"head\": \"YQ==\", \"tail\": \"/w==\"}", "\\xff",
		  "/w==" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		mr_auto_json json_t *chosen = choose_one("a.py:load");
		mr_auto_json json_t *result = make_result(GOOD, 0);
		mr_auto_json json_t *row = NULL;
		const char *base64;

		json_object_set_new(result, "stderr", load(cases[i].stream));
		row = mr_section_judge(chosen, result, json_array());
		assert_string_equal(mr_json_text_or_empty(row, "output"), cases[i].output);
		base64 = json_string_value(json_object_get(row, "output_base64"));
		assert_int_equal(base64 != NULL, cases[i].base64 != NULL);
		if (base64)
			assert_string_equal(base64, cases[i].base64);
	}
}

static void the_end_of_much_output_is_whole_characters(void **state)
{
	mr_auto_json json_t *row = json_object();
	mr_auto_json json_t *text = load("{\"text\": \"\\u00e4\\u00e4b\"}");
	mr_auto_json json_t *none = json_object();

	(void)state;
	mr_output_tell(row, "x", text, 4);
	assert_string_equal(mr_json_text_or_empty(row, "x"), "\xc3\xa4"
							     "b");
	mr_output_tell(row, "x", none, 4);
	assert_true(json_is_null(json_object_get(row, "x")));
}

/* --- files ------------------------------------------------------------------ */

static int count_file(const char *path, char **data, size_t size, void *owner, struct mr_error *err)
{
	size_t *total = owner;

	(void)err;
	assert_int_equal(strlen(*data), size);
	assert_string_equal(path, "d/at.py");
	*total += size;
	return 0;
}

static void write_file(int fd, const char *name, size_t size)
{
	mr_auto_free char *data = mr_str_alloc(size);
	mr_auto_close int file = openat(fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	memset(data, '#', size);
	assert_true(file >= 0 && write(file, data, size) == (ssize_t)size);
}

static void a_file_at_the_limit_is_looked_at_and_one_over_is_told(void **state)
{
	char folder[] = "/tmp/menace-test.XXXXXX";
	mr_auto_close int fd = -1;
	mr_auto_json json_t *left_out = NULL;
	struct mr_error err = MR_ERROR_INIT;
	size_t total = 0;

	(void)state;
	assert_non_null(mkdtemp(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(fd, "d", 0755), 0);
	write_file(fd, "d/at.py", MR_SECTION_FILE_MAX);
	write_file(fd, "d/over.py", MR_SECTION_FILE_MAX + 1);
	write_file(fd, "d/.hidden.py", 1);
	assert_int_equal(mkdirat(fd, "d/.git.py", 0755), 0);
	write_file(fd, "d/.git.py/x.py", 1);
	assert_int_equal(symlinkat("at.py", fd, "d/link.py"), 0);
	assert_int_equal(symlinkat("/", fd, "root"), 0);
	assert_int_equal(mr_section_walk(folder, count_file, &total, &left_out, &err), 0);
	assert_int_equal(total, MR_SECTION_FILE_MAX);
	assert_int_equal(json_integer_value(json_object_get(left_out, "count")), 4);
	/* A link and what is hidden are left out by rule; what is too large should have been looked at. */
	assert_int_equal(json_integer_value(json_object_get(left_out, "missed")), 1);
	assert_string_equal(mr_json_text_or_empty(json_array_get(json_object_get(left_out, "first"),
								 0),
						  "path"),
			    "d/.hidden.py");
	unlinkat(fd, "d/at.py", 0);
	unlinkat(fd, "d/over.py", 0);
	unlinkat(fd, "d/link.py", 0);
	unlinkat(fd, "d/.hidden.py", 0);
	unlinkat(fd, "d/.git.py/x.py", 0);
	unlinkat(fd, "d/.git.py", AT_REMOVEDIR);
	unlinkat(fd, "root", 0);
	unlinkat(fd, "d", AT_REMOVEDIR);
	rmdir(folder);
	assert_int_equal(mr_section_walk(folder, count_file, &total, &left_out, &err), -ENOENT);
}

/* How many entries are loaded. */
static size_t count_kept(const char *folder, const char *version)
{
	size_t size = 0;
	mr_auto_json json_t *files = mr_section_cache_load(folder, "x", version, &size);

	assert_int_equal(size > 0, json_object_size(files) > 0);
	return json_object_size(files);
}

static void what_is_kept_is_of_one_version_and_ours(void **state)
{
	char folder[] = "/tmp/menace-test.XXXXXX";
	mr_auto_json json_t *files = load("{\"abc\": {\"sections\": [1]}}");
	mr_auto_free char *path = NULL;
	mr_auto_free char *aside = NULL;
	mr_auto_free char *unfinished = NULL;
	struct mr_error err = MR_ERROR_INIT;
	const struct timespec old[] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	(void)state;
	assert_non_null(mkdtemp(folder));
	path = mr_str_format("%s/x.json", folder);
	aside = mr_str_format("%s/aside", folder);
	unfinished = mr_str_format("%s/" MR_OUTFILE_TEMP "123456", folder);
	mr_close(open(unfinished, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(utimensat(AT_FDCWD, unfinished, old, 0), 0);
	assert_int_equal(mr_section_cache_save(folder, "x", "1", files, &err), 0);
	assert_int_equal(access(unfinished, F_OK), -1); /* left by a command that was killed */
	assert_int_equal(count_kept(folder, "1"), 1);
	assert_int_equal(count_kept(folder, "2"), 0);
	/* A file that others can write, a link, one that is not whole. */
	assert_int_equal(chmod(path, 0622), 0);
	assert_int_equal(count_kept(folder, "1"), 0);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(symlink("aside", path), 0);
	assert_int_equal(count_kept(folder, "1"), 0);
	assert_int_equal(rename(aside, path), 0);
	assert_int_equal(count_kept(folder, "1"), 1);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(count_kept(folder, "1"), 0);
	/* A folder that others can write. */
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(mr_section_cache_save(folder, "x", "1", files, &err), -EPERM);
	assert_non_null(strstr(err.msg, "; remove it, or chown it and chmod 700"));
	assert_int_equal(count_kept(folder, "1"), 0);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_patterns_and_all),
		cmocka_unit_test(many_sections_are_chosen_in_no_time_and_not_run),
		cmocka_unit_test(a_method_gets_an_object),
		cmocka_unit_test(the_programs_word_is_not_the_end),
		cmocka_unit_test(what_is_seen_is_held_against_hints),
		cmocka_unit_test(a_sandbox_that_failed_is_no_failure_of_the_section),
		cmocka_unit_test(output_of_any_bytes_is_told),
		cmocka_unit_test(the_end_of_much_output_is_whole_characters),
		cmocka_unit_test(a_file_at_the_limit_is_looked_at_and_one_over_is_told),
		cmocka_unit_test(what_is_kept_is_of_one_version_and_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
