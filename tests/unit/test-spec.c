/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: defaults, precedence, lists, rules across knobs
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
#include "runtime/spec/lang.h"
#include "runtime/spec/spec.h"
#include "tests/lib/spec.h"

static void defaults(void **state)
{
	struct mr_spec *spec = *state;

	assert_int_equal(spec->limits_wall_ms, 30000);
	assert_int_equal(spec->limits_memory_max_bytes, 536870912);
	assert_true(spec->limits_cpus == MR_UNLIMITED);
	assert_int_equal(spec->limits_pids_max, 512);
	assert_int_equal(spec->sandbox_level, 3);
	assert_true(spec->sandbox_uid == MR_UNSET);
	assert_string_equal(spec->sandbox_cwd, "/work");
	assert_int_equal(spec->net_mode, MR_NET_NONE);
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		assert_int_equal(spec->origin[i], MR_ORIGIN_DEFAULT);
}

/* Every row of the table is sound: defaults within bounds, keys found, aliases unique. */
static void the_table_is_sound(void **state)
{
	const struct mr_field *fields = mr_spec_fields();

	(void)state;
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++) {
		const struct mr_field *f = &fields[i];

		assert_ptr_equal(mr_spec_field_find(f->key), f);
		if (f->type == MR_FIELD_STR) {
			assert_in_range(strlen(f->default_str), f->min, f->max);
			continue;
		}
		if (f->default_value == MR_UNLIMITED)
			assert_true(f->may_be_unlimited);
		else if (f->default_value != MR_UNSET && f->type != MR_FIELD_ENUM)
			assert_in_range(f->default_value, f->min, f->max);
		for (size_t j = 0; j < i; j++)
			if (f->preset_alias && fields[j].preset_alias)
				assert_string_not_equal(f->preset_alias, fields[j].preset_alias);
	}
}

static void bounds_of_every_numeric_knob(void **state)
{
	const struct mr_field *fields = mr_spec_fields();
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++) {
		const struct mr_field *f = &fields[i];
		struct mr_error err = MR_ERROR_INIT;
		char buf[MR_SPEC_TEXT_SIZE];
		int r;

		if (f->type == MR_FIELD_STR || f->type == MR_FIELD_ENUM || f->type == MR_FIELD_BOOL)
			continue;
		assert_ok(mr_spec_set_text(spec, i, mr_spec_value_text(f, f->min, buf), false,
					   MR_ORIGIN_SET, &err),
			  &err);
		assert_true(mr_spec_get(spec, i) == f->min);
		assert_ok(mr_spec_set_text(spec, i, mr_spec_value_text(f, f->max, buf), false,
					   MR_ORIGIN_SET, &err),
			  &err);
		assert_true(mr_spec_get(spec, i) == f->max);
		assert_int_equal(mr_spec_set_text(spec, i, mr_spec_value_text(f, f->max + 1, buf),
						  false, MR_ORIGIN_SET, &err),
				 -22);
		if (f->min > 0)
			assert_int_equal(mr_spec_set_text(spec, i,
							  mr_spec_value_text(f, f->min - 1, buf),
							  false, MR_ORIGIN_SET, &err),
					 -22);
		assert_int_equal(mr_spec_set_text(spec, i, "-1", false, MR_ORIGIN_SET, &err), -22);
		assert_int_equal(mr_spec_set_text(spec, i, "", false, MR_ORIGIN_SET, &err), -22);
		assert_int_equal(mr_spec_set_text(spec, i, "nan", false, MR_ORIGIN_SET, &err), -22);
		assert_true(mr_spec_get(spec, i) == f->max);
		r = mr_spec_set_text(spec, i, "Unlimited", false, MR_ORIGIN_SET, &err);
		assert_int_equal(r, f->may_be_unlimited ? 0 : -22);
		assert_true(mr_spec_get(spec, i) == (f->may_be_unlimited ? MR_UNLIMITED : f->max));
	}
}

static void range_message(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_int_equal(mr_spec_set_text(spec, MR_FIELD_limits_memory_max_bytes, "65gi", false,
					  MR_ORIGIN_SET, &err),
			 -22);
	assert_string_equal(err.msg, "limits.memory_max_bytes: \"65gi\" is out of range; accepted: "
				     "1Mi to 64Gi, or unlimited");
	assert_int_equal(mr_spec_set_text(spec, MR_FIELD_limits_wall_ms, "0", true, MR_ORIGIN_FLAG,
					  &err),
			 -22);
	assert_string_equal(err.msg, "limits.wall_ms: \"0\" is out of range; accepted: 1ms to "
				     "365d, or unlimited");
	assert_int_equal(mr_spec_set_text(spec, MR_FIELD_net_mode, "hots", false, MR_ORIGIN_FLAG,
					  &err),
			 -22);
	assert_string_equal(err.msg, "net.mode: unknown word \"hots\"; accepted: none, loopback, "
				     "stub, allowlist, host");
	assert_int_equal(mr_spec_set_text(spec, MR_FIELD_sandbox_hostname, "", false,
					  MR_ORIGIN_FLAG, &err),
			 -22);
	assert_string_equal(err.msg, "sandbox.hostname: an empty text is not accepted");
	assert_int_equal(mr_spec_set_text(spec, MR_FIELD_sandbox_uid, "1000:", false,
					  MR_ORIGIN_FLAG, &err),
			 -22);
	assert_string_equal(err.msg, "sandbox.uid: \"1000:\" is not an id: it has more than "
				     "digits; accepted: decimal digits, 0 to 4294967294");
}

static void a_string_longer_than_its_bound(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;
	char name[66];

	memset(name, 'a', 65);
	name[65] = '\0';
	assert_int_equal(mr_spec_set_text(spec, MR_FIELD_sandbox_hostname, name, false,
					  MR_ORIGIN_FLAG, &err),
			 -22);
	assert_string_equal(err.msg,
			    "sandbox.hostname: the text has 65 bytes; accepted: at most 64");
	name[64] = '\0';
	assert_ok(mr_spec_set_text(spec, MR_FIELD_sandbox_hostname, name, false, MR_ORIGIN_FLAG,
				   &err),
		  &err);
	assert_string_equal(spec->sandbox_hostname, name);
}

static void a_lower_origin_is_checked_and_ignored(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;
	enum mr_field_id id = MR_FIELD_limits_pids_max;

	assert_ok(mr_spec_set_text(spec, id, "10", false, MR_ORIGIN_SET, &err), &err);
	assert_ok(mr_spec_set_text(spec, id, "20", false, MR_ORIGIN_PRESET, &err), &err);
	assert_int_equal(spec->limits_pids_max, 10);
	assert_int_equal(spec->origin[id], MR_ORIGIN_SET);
	assert_int_equal(mr_spec_set_text(spec, id, "x", false, MR_ORIGIN_PRESET, &err), -22);
	assert_ok(mr_spec_set_text(spec, id, "30", false, MR_ORIGIN_SET, &err), &err);
	assert_int_equal(spec->limits_pids_max, 30);
	assert_ok(mr_spec_set_text(spec, id, "40", false, MR_ORIGIN_FLAG, &err), &err);
	assert_int_equal(spec->limits_pids_max, 40);
	assert_string_equal(mr_spec_origin_name(spec->origin[id]), "flag");
}

static void bare_numbers_of_times(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_ok(mr_spec_set_text(spec, MR_FIELD_limits_wall_ms, "2", true, MR_ORIGIN_FLAG, &err),
		  &err);
	assert_int_equal(spec->limits_wall_ms, 2000);
	assert_ok(mr_spec_set_text(spec, MR_FIELD_limits_wall_ms, "2", false, MR_ORIGIN_FLAG, &err),
		  &err);
	assert_int_equal(spec->limits_wall_ms, 2);
}

static void assignments(void **state)
{
	static const char *const bad[][2] = {
		{ "limits.pids_max", "\"limits.pids_max\" is not SECTION.KEY=VALUE" },
		{ "limits.pid_max=8", "unknown key \"limits.pid_max\"; did you mean "
				      "\"limits.pids_max\"?" },
		{ "pids_max=8", "unknown key \"pids_max\"; did you mean \"limits.pids_max\"?" },
		{ "frobnicate=8", "unknown key \"frobnicate\"; menace-spec(5) lists them all" },
		{ "=8", "unknown key \"\"; menace-spec(5) lists them all" },
		{ "limits.pids_max=", "limits.pids_max: \"\" is not a whole number: it is empty; "
				      "accepted: decimal digits, as in 64" },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_ok(mr_spec_set_assignment(spec, "limits.pids_max=8", &err), &err);
	assert_int_equal(spec->limits_pids_max, 8);
	assert_ok(mr_spec_set_assignment(spec, "sandbox.cwd=/a=b", &err), &err);
	assert_string_equal(spec->sandbox_cwd, "/a=b");
	assert_ok(mr_spec_set_assignment(spec, "limits.wall_ms=1500", &err), &err);
	assert_int_equal(spec->limits_wall_ms, 1500);
	assert_ok(mr_spec_set_assignment(spec, "sandbox.unsafe=yes", &err), &err);
	assert_int_equal(spec->sandbox_unsafe, 1);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		assert_int_equal(mr_spec_set_assignment(spec, bad[i][0], &err), -22);
		assert_string_equal(err.msg, bad[i][1]);
	}
}

static void environment_entries(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_ok(mr_spec_add_env(spec, "A=1", &err), &err);
	assert_ok(mr_spec_add_env(spec, "AB=2", &err), &err);
	assert_ok(mr_spec_add_env(spec, "A=3=4", &err), &err);
	assert_int_equal(spec->env.n, 2);
	assert_string_equal(spec->env.v[0], "A=3=4");
	assert_string_equal(spec->env.v[1], "AB=2");
	assert_null(spec->env.v[2]);
	assert_int_equal(mr_spec_add_env(spec, "=x", &err), -22);
	assert_string_equal(err.msg, "\"=x\": the name is empty; accepted: NAME=VALUE");
	assert_int_equal(mr_spec_add_env(spec, "HOME", &err), -22);
	assert_string_equal(err.msg, "\"HOME\": no value; accepted: NAME=VALUE (--env-pass NAME "
				     "hands the caller's value on)");
	assert_int_equal(mr_spec_add_env(spec, "", &err), -22);
}

static void mount_arguments(void **state)
{
	static const struct {
		enum mr_mount_kind kind;
		const char *arg;
		const char *source;
		const char *dest;
		uint64_t size;
	} rows[] = {
		{ MR_MOUNT_RO, "/opt/x", "/opt/x", "/opt/x", 0 },
		{ MR_MOUNT_RW, "data:/srv", "data", "/srv", 0 },
		{ MR_MOUNT_RO, "/a:b:/c", "/a:b", "/c", 0 },
		{ MR_MOUNT_RO, "-x:/-x", "-x", "/-x", 0 },
		{ MR_MOUNT_TMPFS, "/t", NULL, "/t", 0 },
		{ MR_MOUNT_TMPFS, "/u:16Mi", NULL, "/u", 16777216 },
		{ MR_MOUNT_HIDE, "/etc/ssl/", NULL, "/etc/ssl", 0 },
		{ MR_MOUNT_HIDE, "/proc/meminfo", NULL, "/proc/meminfo", 0 },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct mr_spec_mount *mount;

		assert_ok(mr_spec_add_mount(spec, rows[i].kind, rows[i].arg, &err), &err);
		assert_int_equal(spec->n_mounts, i + 1);
		mount = &spec->mounts[i];
		assert_int_equal(mount->kind, rows[i].kind);
		assert_string_equal(mount->dest, rows[i].dest);
		assert_int_equal(mount->size_bytes, rows[i].size);
		if (rows[i].source)
			assert_string_equal(mount->source, rows[i].source);
		else
			assert_null(mount->source);
	}
}

static void refused_mount_arguments(void **state)
{
	static const struct {
		enum mr_mount_kind kind;
		const char *arg;
		const char *message;
	} rows[] = {
		{ MR_MOUNT_RO, "", "\"\": the path is empty" },
		{ MR_MOUNT_RO, "data",
		  "\"data\": a relative path needs the place inside: PATH:DEST" },
		{ MR_MOUNT_RO, "/a:b",
		  "\"/a:b\": the place inside must be absolute; accepted: PATH or "
		  "PATH:DEST" },
		{ MR_MOUNT_RO, ":/b", "\"\": the path is empty" },
		{ MR_MOUNT_RO, "/a:/b:ro",
		  "\"/a:/b:ro\": a second colon; accepted: PATH or PATH:DEST "
		  "(--ro and --rw say the mode)" },
		{ MR_MOUNT_RW, "/etc:/", "\"/\": the root of the sandbox cannot be mounted over" },
		{ MR_MOUNT_RW, "/etc:///",
		  "\"///\": the root of the sandbox cannot be mounted over" },
		{ MR_MOUNT_RW, "/x:/a/..",
		  "\"/a/..\": \".\" and \"..\" are not accepted in a path "
		  "inside the sandbox" },
		{ MR_MOUNT_RW, "/x:/./a",
		  "\"/./a\": \".\" and \"..\" are not accepted in a path "
		  "inside the sandbox" },
		{ MR_MOUNT_RO, "/x:/proc", "\"/proc\": /proc and /dev are the sandbox's own" },
		{ MR_MOUNT_RO, "/x://proc//1",
		  "\"/proc/1\": /proc and /dev are the sandbox's own" },
		{ MR_MOUNT_TMPFS, "/dev/shm",
		  "\"/dev/shm\": /proc and /dev are the sandbox's own" },
		{ MR_MOUNT_TMPFS, "t", "\"t\": a path inside the sandbox must be absolute" },
		{ MR_MOUNT_TMPFS, "/t:0",
		  "\"/t:0\": a size of 0; leave it out for no cap of its own" },
		{ MR_MOUNT_HIDE, "etc", "\"etc\": a path inside the sandbox must be absolute" },
		{ MR_MOUNT_RO, "/x:/taken/",
		  "\"/taken\": this place inside is already taken by another mount" },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_ok(mr_spec_add_mount(spec, MR_MOUNT_TMPFS, "/taken", &err), &err);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_int_equal(mr_spec_add_mount(spec, rows[i].kind, rows[i].arg, &err), -22);
		assert_string_equal(err.msg, rows[i].message);
	}
	assert_int_equal(spec->n_mounts, 1);
	assert_int_equal(mr_spec_add_mount(spec, MR_MOUNT_TMPFS, "/t:-1", &err), -22);
	assert_int_equal(mr_spec_add_mount(spec, MR_MOUNT_TMPFS, "/process", &err), 0);
}

static void assert_unknown_item(const char *item)
{
	static const char items[] =
#define ITEM(name, help) name ", "
#include "runtime/spec/best_effort.def"
#undef ITEM
		;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;
	char message[512];

	mr_spec_init(&spec);
	snprintf(message, sizeof(message),
		 "unknown item \"%s\"; accepted: %sand preset variables of menace-spec(5)", item,
		 items);
	assert_int_equal(mr_spec_add_best_effort(&spec, item, &err), -22);
	assert_string_equal(err.msg, message);
	mr_spec_deinit(&spec);
}

static void best_effort_items(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_ok(mr_spec_add_best_effort(spec, "memory,landlock,memory,GPU_LIMIT", &err), &err);
	assert_int_equal(spec->best_effort.n, 3);
	assert_true(mr_spec_tolerates(spec, "GPU_LIMIT"));
	assert_int_equal(mr_spec_add_best_effort(spec, "cpu,,pids", &err), -22);
	assert_unknown_item("");
	assert_unknown_item("all");
	assert_int_equal(mr_spec_add_best_effort(spec, "Memory", &err), -22);
	assert_string_equal(err.msg, "unknown item \"Memory\"; did you mean \"memory\"?");
	assert_int_equal(mr_spec_add_best_effort(spec, "net,proc-mask", &err), -22);
	assert_string_equal(err.msg, "item \"proc-mask\" is no more: what it names is enforced on "
				     "every host; leave it out");
}

static void a_copy_shares_nothing(void **state)
{
	struct mr_spec *spec = *state;
	struct mr_spec copy;

	parse_ok(spec, DOC(", \"name\": \"n\", \"program\": [\"a\"], \"env\": {\"A\": \"1\"},"
			   " \"mounts\": [{\"type\": \"ro\", \"source\": \"/x\"}],"
			   " \"sandbox\": {\"hostname\": \"h\"}"));
	mr_spec_copy(&copy, spec);
	mr_auto_free char *before = mr_spec_print_canonical(spec);

	fresh(spec);
	mr_auto_free char *after = mr_spec_print_canonical(&copy);

	assert_string_equal(before, after);
	assert_int_equal(copy.origin[MR_FIELD_sandbox_hostname], MR_ORIGIN_SPEC);
	mr_spec_deinit(&copy);
}

static void rules_across_knobs(void **state)
{
	static const char *const rows[][2] = {
		{ "", "no program: give PROGRAM [ARG...], a snippet FILE, -c CODE or --spec FILE" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"level\": 1}",
		  "sandbox.level: level 1 keeps capabilities; accepted: 2 to 5, or 1 with "
		  "sandbox.unsafe (--unsafe)" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"keep_changes\": \"out\"}",
		  "sandbox.keep_changes: there is no workspace whose changes could be kept "
		  "(--workspace DIR)" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"workspace\": \"w\"}, \"mounts\": "
		  "[{\"type\": \"tmpfs\", \"dest\": \"/work\"}]",
		  "sandbox.workspace: its place /work is taken by a mount of type tmpfs (--tmpfs); "
		  "give that another place" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"tty\": true, \"stdin_path\": \"f\"}",
		  "sandbox.stdin_path: with a terminal (--tty) the input comes from it" },
		{ ", \"snippet\": {\"code\": \"print(1)\"}",
		  "snippet: a text needs a language (--lang NAME; \"lang\" in a document), or a "
		  "first line that begins with \"#!\"" },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;
	char text[512];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		fresh(spec);
		snprintf(text, sizeof(text), "{\"schema\": \"menace.spec/1\"%s}", rows[i][0]);
		parse_ok(spec, text);
		assert_int_equal(mr_spec_validate(spec, &err), -22);
		assert_string_equal(err.msg, rows[i][1]);
	}
	fresh(spec);
	parse_ok(spec,
		 DOC(", \"program\": [\"a\"], \"sandbox\": {\"level\": 1, \"unsafe\": true}"));
	assert_ok(mr_spec_validate(spec, &err), &err);
	fresh(spec);
	parse_ok(spec, DOC(", \"snippet\": {\"code\": \"#!/bin/sh\\n\"}"));
	assert_ok(mr_spec_validate(spec, &err), &err);
}

static void languages(void **state)
{
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_string_equal(mr_lang_find("python")->argv[0], "python3");
	assert_string_equal(mr_lang_find("Py")->name, "python");
	assert_string_equal(mr_lang_find("nodejs")->name, "javascript");
	assert_null(mr_lang_find(""));
	assert_null(mr_lang_find("pyt"));
	assert_string_equal(mr_lang_of_path("/a.b/x.tar.py")->name, "python");
	assert_string_equal(mr_lang_of_path("x.mjs")->name, "javascript");
	assert_null(mr_lang_of_path("/a.py/x"));
	assert_null(mr_lang_of_path(".py"));
	assert_null(mr_lang_of_path("x."));
	assert_null(mr_lang_of_path("x.PY"));
	assert_int_equal(mr_lang_check("js", &err), 0);
	assert_int_equal(mr_lang_check("prel", &err), -22);
	assert_string_equal(err.msg, "unknown language \"prel\"; did you mean \"perl\"?");
	assert_int_equal(mr_lang_check("cobol", &err), -22);
	assert_string_equal(err.msg,
			    "unknown language \"cobol\"; accepted: python, sh, bash, javascript, "
			    "perl, ruby, lua, php, r, tcl, awk, make");
	assert_int_equal(err.code, MR_E_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SPEC_TEST(defaults),
		SPEC_TEST(the_table_is_sound),
		SPEC_TEST(bounds_of_every_numeric_knob),
		SPEC_TEST(range_message),
		SPEC_TEST(a_string_longer_than_its_bound),
		SPEC_TEST(a_lower_origin_is_checked_and_ignored),
		SPEC_TEST(bare_numbers_of_times),
		SPEC_TEST(assignments),
		SPEC_TEST(environment_entries),
		SPEC_TEST(mount_arguments),
		SPEC_TEST(refused_mount_arguments),
		SPEC_TEST(best_effort_items),
		SPEC_TEST(a_copy_shares_nothing),
		SPEC_TEST(rules_across_knobs),
		SPEC_TEST(languages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
