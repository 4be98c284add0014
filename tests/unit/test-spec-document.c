/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: the document, what is printed of one, and that it is read back to the same
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
#include "runtime/spec/spec.h"
#include "tests/lib/spec.h"

static void a_document_with_everything(void **state)
{
	struct mr_spec *spec = *state;

	parse_ok(spec,
		 DOC(", \"name\": \"n\", \"program\": [\"/bin/echo\", \"a\"], \"args\": [\"b\"],"
		     "\"env\": {\"K\": \"v=w\", \"E\": \"\"}, \"env_pass\": [\"HOME\"],"
		     "\"mounts\": [{\"type\": \"ro\", \"source\": \"/opt\"},"
		     "  {\"type\": \"rw\", \"source\": \"data\", \"dest\": \"//srv//d/\"},"
		     "  {\"type\": \"tmpfs\", \"dest\": \"/scratch\", \"size_bytes\": 4096},"
		     "  {\"type\": \"hide\", \"dest\": \"/usr/share/doc\"}],"
		     "\"limits\": {\"wall_ms\": 1500, \"cpu_time_ms\": \"10s\", \"cpus\": 0.5,"
		     "  \"memory_max_bytes\": \"64Mi\", \"pids_max\": \"unlimited\"},"
		     "\"sandbox\": {\"level\": 4, \"hostname\": \"h\", \"uid\": null, \"tty\": "
		     "true},"
		     "\"net\": {\"mode\": \"loopback\"}, \"output\": {\"forward\": false},"
		     "\"best_effort\": [\"landlock\", \"cgroup\"]"));
	assert_string_equal(spec->name, "n");
	assert_int_equal(spec->argv.n, 3);
	assert_string_equal(spec->argv.v[2], "b");
	assert_null(spec->argv.v[3]);
	assert_int_equal(spec->env.n, 2);
	assert_string_equal(spec->env.v[0], "K=v=w");
	assert_string_equal(spec->env.v[1], "E=");
	assert_string_equal(spec->env_pass.v[0], "HOME");
	assert_int_equal(spec->n_mounts, 4);
	assert_string_equal(spec->mounts[0].dest, "/opt");
	assert_string_equal(spec->mounts[1].source, "data");
	assert_string_equal(spec->mounts[1].dest, "/srv/d");
	assert_int_equal(spec->mounts[2].size_bytes, 4096);
	assert_null(spec->mounts[3].source);
	assert_int_equal(spec->limits_wall_ms, 1500);
	assert_int_equal(spec->limits_cpu_time_ms, 10000);
	assert_int_equal(spec->limits_cpus, 500);
	assert_int_equal(spec->limits_memory_max_bytes, 67108864);
	assert_true(spec->limits_pids_max == MR_UNLIMITED);
	assert_int_equal(spec->sandbox_level, 4);
	assert_true(spec->sandbox_uid == MR_UNSET);
	assert_int_equal(spec->sandbox_tty, 1);
	assert_int_equal(spec->net_mode, MR_NET_LOOPBACK);
	assert_int_equal(spec->output_forward, 0);
	assert_true(mr_spec_tolerates(spec, "cgroup"));
	assert_false(mr_spec_tolerates(spec, "memory"));
	assert_int_equal(spec->origin[MR_FIELD_limits_wall_ms], MR_ORIGIN_SPEC);
	assert_int_equal(spec->origin[MR_FIELD_limits_nofile], MR_ORIGIN_DEFAULT);
}

static void snippets_of_documents(void **state)
{
	struct mr_spec *spec = *state;

	parse_ok(spec, DOC(", \"snippet\": {\"code\": \"a\\u0000b\", \"lang\": \"python\"},"
			   " \"args\": [\"x\"]"));
	assert_int_equal(spec->snippet_code_size, 3);
	assert_memory_equal(spec->snippet_code, "a\0b", 4);
	assert_string_equal(spec->lang, "python");
	assert_int_equal(spec->argv.n, 1);
	assert_null(spec->snippet_path);
	/* A second document's program takes the place of the snippet. */
	parse_ok(spec, DOC(", \"program\": [\"true\"]"));
	assert_null(spec->snippet_code);
	assert_null(spec->lang);
	assert_int_equal(spec->argv.n, 1);
	parse_ok(spec, DOC(", \"snippet\": {\"path\": \"a.py\"}"));
	assert_string_equal(spec->snippet_path, "a.py");
	assert_int_equal(spec->argv.n, 0);
}

static void refused_documents(void **state)
{
	static const char *const rows[][2] = {
		{ "[]", "job: a list where an object is expected" },
		{ "{}", "job: \"schema\" is missing; accepted: \"menace.spec/1\"" },
		{ "{\"schema\": \"menace.spec/2\"}",
		  "job: schema: unknown schema \"menace.spec/2\"; accepted: \"menace.spec/1\"" },
		{ DOC(", \"limit\": {}"), "job: unknown key \"limit\"; did you mean \"limits\"?" },
		{ DOC(", \"limits\": {\"memory_max\": 1}"),
		  "job: limits: unknown key \"memory_max\"; did you mean \"memory_max_bytes\"?" },
		{ DOC(", \"limits\": {\"pid_max\": 1}"),
		  "job: limits: unknown key \"pid_max\"; did you mean \"pids_max\"?" },
		{ DOC(", \"limits\": {\"pids_max\": -1}"),
		  "job: limits.pids_max: \"-1\" is not a whole number: it is negative; accepted: "
		  "decimal digits, as in 64" },
		{ DOC(", \"limits\": {\"pids_max\": true}"),
		  "job: limits.pids_max: a boolean where a string or a number is expected" },
		{ DOC(", \"limits\": {\"pids_max\": null}"),
		  "job: limits.pids_max: null where a string or a number is expected" },
		{ DOC(", \"limits\": {\"pids_max\": 4194305}"),
		  "job: limits.pids_max: \"4194305\" is out of range; accepted: 1 to 4194304, or "
		  "unlimited" },
		{ DOC(", \"limits\": []"), "job: limits: a list where an object is expected" },
		{ DOC(", \"sandbox\": {\"hostname\": 5}"),
		  "job: sandbox.hostname: a number where a string is expected" },
		{ DOC(", \"sandbox\": {\"cwd\": \"/a\\u0000b\"}"),
		  "job: sandbox.cwd: holds a NUL byte" },
		{ DOC(", \"sandbox\": {\"cwd\": \"work\"}"),
		  "job: sandbox.cwd: \"work\" must be absolute and without \".\" and \"..\"" },
		{ DOC(", \"sandbox\": {\"cwd\": \"/work/../etc\"}"),
		  "job: sandbox.cwd: \"/work/../etc\" must be absolute and without \".\" and "
		  "\"..\"" },
		{ DOC(", \"sandbox\": {\"cwd\": \"//proc/self/fd/7\"}"),
		  "job: sandbox.cwd: \"//proc/self/fd/7\": /proc is not accepted as working "
		  "directory" },
		{ DOC(", \"sandbox\": {\"hostname\": \"a b\"}"),
		  "job: sandbox.hostname: \"a b\"; accepted: letters, digits, '-' and '.', the "
		  "first a letter or a digit" },
		{ DOC(", \"snippet\": {\"code\": \"\", \"lang\": \"pyton\"}"),
		  "job: snippet.lang: unknown language \"pyton\"; did you mean \"python\"?" },
		{ DOC(", \"program\": []"), "job: program: the program is empty" },
		{ DOC(", \"program\": [\"\"]"), "job: program: the program is empty" },
		{ DOC(", \"program\": \"ls\""), "job: program: a string where a list is expected" },
		{ DOC(", \"program\": [\"a\\u0000\"]"), "job: program[0]: holds a NUL byte" },
		{ DOC(", \"program\": [\"a\", 5]"),
		  "job: program[1]: a number where a string is expected" },
		{ DOC(", \"program\": [\"a\"], \"snippet\": {\"code\": \"\"}"),
		  "job: accepted: either \"program\" or \"snippet\"" },
		{ DOC(", \"args\": [\"a\"]"), "job: \"args\" without \"program\" or \"snippet\"" },
		{ DOC(", \"snippet\": {}"), "job: snippet: accepted: either \"path\" or \"code\"" },
		{ DOC(", \"snippet\": {\"code\": \"\", \"path\": \"x\"}"),
		  "job: snippet: accepted: either \"path\" or \"code\"" },
		{ DOC(", \"snippet\": {\"path\": \"\"}"), "job: snippet.path: the path is empty" },
		{ DOC(", \"env\": {\"A=B\": \"x\"}"), "job: env.A=B: not the name of a variable" },
		{ DOC(", \"env\": {\"\": \"x\"}"), "job: env.: not the name of a variable" },
		{ DOC(", \"env\": {\"A\": \"x\\u0000\"}"), "job: env.A: holds a NUL byte" },
		{ DOC(", \"env_pass\": [\"A=B\"]"),
		  "job: env_pass[0]: \"A=B\": not the name of a variable" },
		{ DOC(", \"mounts\": [{\"dest\": \"/x\"}]"),
		  "job: mounts[0]: \"type\" is missing; accepted: ro, rw, tmpfs, hide" },
		{ DOC(", \"mounts\": [{\"type\": \"bind\", \"dest\": \"/x\"}]"),
		  "job: mounts[0].type: unknown type \"bind\"; accepted: ro, rw, tmpfs, hide" },
		{ DOC(", \"mounts\": [{\"type\": \"ro\", \"dest\": \"/x\"}]"),
		  "job: mounts[0]: a mount of type ro needs \"source\"" },
		{ DOC(", \"mounts\": [{\"type\": \"tmpfs\", \"source\": \"/x\", \"dest\": "
		      "\"/x\"}]"),
		  "job: mounts[0]: a mount of type tmpfs has no \"source\"" },
		{ DOC(", \"mounts\": [{\"type\": \"hide\"}]"),
		  "job: mounts[0]: a mount of type hide needs \"dest\"" },
		{ DOC(", \"mounts\": [{\"type\": \"ro\", \"source\": \"/x\", \"size_bytes\": 1}]"),
		  "job: mounts[0]: a mount of type ro has no \"size_bytes\"" },
		{ DOC(", \"mounts\": [{\"type\": \"ro\", \"source\": \"/x\", \"dest\": "
		      "\"/a/../b\"}]"),
		  "job: mounts[0]: \"/a/../b\": \".\" and \"..\" are not accepted in a path inside "
		  "the sandbox" },
		{ DOC(", \"best_effort\": [\"landlok\"]"),
		  "job: best_effort[0]: unknown item \"landlok\"; did you mean \"landlock\"?" },
		{ DOC(", \"best_effort\": \"landlock\""),
		  "job: best_effort: a string where a list is expected" },
		{ DOC(", \"preset\": {\"TIMOUT\": 5}"),
		  "job: preset: unknown preset variable \"TIMOUT\"; did you mean \"TIMEOUT\"?" },
		{ DOC(", \"preset\": \"strickt\""),
		  "job: preset: no preset \"strickt\"; did you mean \"strict\"?" },
	};
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_parse_refused(spec, rows[i][0], rows[i][1]);
}

static void a_document_wins_over_its_preset(void **state)
{
	struct mr_spec *spec = *state;

	parse_ok(spec, DOC(", \"limits\": {\"pids_max\": 7},"
			   " \"preset\": {\"MAX_THREADS\": 9, \"TIMEOUT\": 3}"));
	assert_int_equal(spec->limits_pids_max, 7);
	assert_int_equal(spec->limits_wall_ms, 3000);
	fresh(spec);
	parse_ok(spec, DOC(", \"preset\": \"tiny\""));
	assert_int_equal(spec->limits_memory_max_bytes, 67108864);
	assert_int_equal(spec->limits_cpus, 250);
	assert_int_equal(spec->origin[MR_FIELD_limits_cpus], MR_ORIGIN_PRESET);
}

static void the_canonical_text_is_read_back(void **state)
{
	struct mr_spec *spec = *state;
	struct mr_spec again;

	parse_ok(spec, DOC(", \"name\": \"\xc3\xa9\", \"snippet\": {\"code\": \"x\\u0000\","
			   " \"lang\": \"sh\"}, \"args\": [\"a\\n\"], \"env\": {\"B\": \"2\","
			   " \"A\": \"1\"}, \"mounts\": [{\"type\": \"tmpfs\", \"dest\": \"/t\"}],"
			   " \"limits\": {\"cpus\": 0.29, \"wall_ms\": \"unlimited\"},"
			   " \"best_effort\": [\"cpu\"]"));
	mr_auto_free char *first = mr_spec_print_canonical(spec);

	mr_spec_init(&again);
	parse_ok(&again, first);
	mr_auto_free char *second = mr_spec_print_canonical(&again);

	assert_string_equal(first, second);
	assert_int_equal(again.limits_cpus, 290);
	assert_true(again.limits_wall_ms == MR_UNLIMITED);
	assert_null(strchr(first, '\n'));
	mr_spec_deinit(&again);
}

static void equal_requests_have_equal_hashes(void **state)
{
	struct mr_spec *spec = *state;
	struct mr_spec other;
	char first[65];
	char second[65];

	parse_ok(spec, DOC(", \"program\": [\"ls\"], \"env\": {\"A\": \"1\", \"B\": \"2\"},"
			   " \"limits\": {\"wall_ms\": \"30s\"}"));
	mr_spec_init(&other);
	parse_ok(&other, DOC(", \"limits\": {\"wall_ms\": 30000}, \"env\": {\"B\": \"2\","
			     " \"A\": \"1\"}, \"program\": [\"ls\"]"));
	mr_spec_hash(spec, first);
	mr_spec_hash(&other, second);
	assert_string_equal(first, second);
	assert_int_equal(strlen(first), 64);
	other.limits_wall_ms++;
	mr_spec_hash(&other, second);
	assert_string_not_equal(first, second);
	mr_spec_deinit(&other);
}

/* The canonical text of spec, read into `again`; false: it says something else there. */
static bool is_read_back(const struct mr_spec *spec, struct mr_spec *again)
{
	mr_auto_free char *first = mr_spec_print_canonical(spec);

	mr_spec_init(again);
	parse_ok(again, first);
	mr_auto_free char *second = mr_spec_print_canonical(again);

	return strcmp(first, second) == 0;
}

static void bytes_that_are_not_text_are_read_back(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;
	struct mr_spec again;

	mr_strv_add(&spec->argv, "/bin/\xff");
	assert_ok(mr_spec_add_env(spec, "\xfe=\xff", &err), &err);
	assert_ok(mr_spec_add_env_pass(spec, "\xfd", &err), &err);
	assert_ok(mr_spec_add_mount(spec, MR_MOUNT_RO, "/\xfc:/\xfb", &err), &err);
	assert_ok(mr_spec_set_assignment(spec, "sandbox.workspace=\xfa", &err), &err);
	mr_auto_free char *text = mr_spec_print_canonical(spec);

	assert_non_null(strstr(text, "\"program\":[{\"base64\":\"L2Jpbi//\"}]"));
	assert_non_null(strstr(text, "\"env\":{\"=/g==\":{\"base64\":\"/w==\"}}"));
	assert_true(is_read_back(spec, &again));
	assert_string_equal(again.argv.v[0], "/bin/\xff");
	assert_string_equal(again.env.v[0], "\xfe=\xff");
	assert_string_equal(again.env_pass.v[0], "\xfd");
	assert_string_equal(again.mounts[0].source, "/\xfc");
	assert_string_equal(again.mounts[0].dest, "/\xfb");
	assert_string_equal(again.sandbox_workspace, "\xfa");
	mr_spec_deinit(&again);

	fresh(spec);
	parse_ok(spec, DOC(", \"snippet\": {\"code\": {\"base64\": \"AP8B\"}}"));
	assert_int_equal(spec->snippet_code_size, 3);
	assert_memory_equal(spec->snippet_code, "\0\xff\x01", 4);
	assert_true(is_read_back(spec, &again));
	mr_spec_deinit(&again);
}

static void bytes_have_one_spelling(void **state)
{
	static const char *const bad[] = { "=",	    "A",	"AA",	"AAA",	"AA=",
					   "A===",  "AB==",	"AAB=", "A A=", "AAAA=",
					   "AAAA ", "AA==AA==", "AA-_", "====", "\\u0000" };
	static const char *const good[][2] = { { "", "" },
					       { "YQ==", "a" },
					       { "YWI=", "ab" },
					       { "YWJj", "abc" },
					       { "////", "\xff\xff\xff" } };
	struct mr_spec *spec = *state;
	char text[128];

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		snprintf(text, sizeof(text),
			 "{\"schema\": \"menace.spec/1\", \"program\": [{\"base64\": \"%s\"}]}",
			 bad[i]);
		assert_parse_refused(spec, text,
				     "job: program[0].base64: not base64 (RFC 4648, padded, "
				     "without spaces)");
	}
	for (size_t i = 0; i < N_ELEMENTS(good); i++) {
		fresh(spec);
		snprintf(text, sizeof(text),
			 "{\"schema\": \"menace.spec/1\", \"program\": [\"x\", {\"base64\": "
			 "\"%s\"}]}",
			 good[i][0]);
		parse_ok(spec, text);
		assert_string_equal(spec->argv.v[1], good[i][1]);
	}
	assert_parse_refused(spec, DOC(", \"program\": [{\"base64\": \"AAA=\"}]"),
			     "job: program[0]: holds a NUL byte");
	assert_parse_refused(spec, DOC(", \"program\": [{\"base64\": \"\", \"x\": 1}]"),
			     "job: program[0]: unknown key \"x\"");
	assert_parse_refused(spec, DOC(", \"program\": [{\"base64\": 1}]"),
			     "job: program[0].base64: a number where a string is expected");
	assert_parse_refused(spec, DOC(", \"program\": [{}]"),
			     "job: program[0]: an object where a string is expected");
	assert_parse_refused(spec, DOC(", \"env\": {\"=!\": \"x\"}"),
			     "job: env.=!: not base64 (RFC 4648, padded, without spaces)");
	assert_parse_refused(spec, DOC(", \"env\": {\"=QT1C\": \"x\"}"),
			     "job: env.=QT1C: not the name of a variable");
	assert_parse_refused(spec, DOC(", \"sandbox\": {\"cwd\": {\"base64\": \"x\"}}"),
			     "job: sandbox.cwd.base64: not base64 (RFC 4648, padded, without "
			     "spaces)");
	assert_parse_refused(spec, DOC(", \"limits\": {\"nofile\": {\"base64\": \"OA==\"}}"),
			     "job: limits.nofile: an object where a string or a number is "
			     "expected");
}

static void what_is_not_enforced_is_read_back(void **state)
{
	struct mr_spec *spec = *state;
	struct mr_spec again;

	parse_ok(spec, DOC(", \"program\": [\"a\"], \"preset\": {\"GPU_LIMIT\": 5},"
			   " \"best_effort\": [\"GPU_LIMIT\"]"));
	assert_true(is_read_back(spec, &again));
	assert_int_equal(again.unenforced.n, 1);
	assert_string_equal(again.unenforced.v[0], "GPU_LIMIT");
	mr_spec_deinit(&again);
	assert_parse_refused(spec, DOC(", \"unenforced\": [\"GPU_LIMIT\"]"),
			     "job: unenforced[0]: GPU_LIMIT is not among the items of "
			     "best_effort");
	assert_parse_refused(spec, DOC(", \"unenforced\": [\"GPU_LIMI\"]"),
			     "job: unenforced[0]: unknown preset variable \"GPU_LIMI\"; did you "
			     "mean \"GPU_LIMIT\"?");
	assert_parse_refused(spec, DOC(", \"unenforced\": [1]"),
			     "job: unenforced[0]: a number where a string is expected");
	assert_parse_refused(spec, DOC(", \"unenforced\": {}"),
			     "job: unenforced: an object where a list is expected");
}

static void assert_explained(const struct mr_spec *spec, const char *key, const char *expected)
{
	mr_auto_json json_t *knobs = mr_spec_explain_json(spec);
	mr_auto_free char *text =
		json_dumps(json_object_get(knobs, key), JSON_SORT_KEYS | JSON_COMPACT);

	assert_string_equal(text, expected);
}

static void the_knobs_are_explained(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_ok(mr_spec_set_assignment(spec, "limits.pids_max=8", &err), &err);
	assert_explained(spec, "limits.pids_max",
			 "{\"origin\":\"set\",\"text\":\"8\",\"unit\":\"processes\"}");
	assert_explained(spec, "limits.wall_ms",
			 "{\"origin\":\"default\",\"text\":\"30s\",\"unit\":\"ms\"}");
	assert_explained(spec, "sandbox.uid", "{\"origin\":\"default\"}");
	assert_explained(spec, "sandbox.cwd", "{\"origin\":\"default\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SPEC_TEST(a_document_with_everything),
		SPEC_TEST(snippets_of_documents),
		SPEC_TEST(refused_documents),
		SPEC_TEST(a_document_wins_over_its_preset),
		SPEC_TEST(the_canonical_text_is_read_back),
		SPEC_TEST(equal_requests_have_equal_hashes),
		SPEC_TEST(bytes_that_are_not_text_are_read_back),
		SPEC_TEST(bytes_have_one_spelling),
		SPEC_TEST(what_is_not_enforced_is_read_back),
		SPEC_TEST(the_knobs_are_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
