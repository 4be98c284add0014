/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: defaults, precedence, the document, lists, canonical text, rules across knobs
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

#define DOC(members) "{\"schema\": \"menace.spec/1\"" members "}"

static int setup(void **state)
{
	static struct mr_spec spec;

	mr_spec_init(&spec);
	*state = &spec;
	return 0;
}

static int teardown(void **state)
{
	mr_spec_deinit(*state);
	return 0;
}

static void fresh(struct mr_spec *spec)
{
	mr_spec_deinit(spec);
	mr_spec_init(spec);
}

static void assert_ok(int r, const struct mr_error *err)
{
	if (r != 0)
		fail_msg("%d: %s", r, err->msg);
}

static void parse_ok(struct mr_spec *spec, const char *text)
{
	struct mr_error err = MR_ERROR_INIT;

	assert_ok(mr_spec_parse_json(spec, text, strlen(text), "job", &err), &err);
}

static void assert_parse_refused(struct mr_spec *spec, const char *text, const char *message)
{
	struct mr_error err = MR_ERROR_INIT;

	fresh(spec);
	assert_int_equal(mr_spec_parse_json(spec, text, strlen(text), "job", &err), -22);
	assert_string_equal(err.msg, message);
	assert_int_equal(err.code, MR_E_USAGE);
	assert_int_equal(mr_errc_exit_status(err.code), 2);
}

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
	assert_string_equal(err.msg,
			    "net.mode: unknown word \"hots\"; accepted: none, loopback, host");
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

static void best_effort_items(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_ok(mr_spec_add_best_effort(spec, "memory,landlock,memory,PACKET_LOSS", &err), &err);
	assert_int_equal(spec->best_effort.n, 3);
	assert_true(mr_spec_tolerates(spec, "PACKET_LOSS"));
	assert_int_equal(mr_spec_add_best_effort(spec, "cpu,,pids", &err), -22);
	assert_string_equal(err.msg, "unknown item \"\"; menace-run(1) lists them all");
	assert_int_equal(mr_spec_add_best_effort(spec, "all", &err), -22);
	assert_string_equal(err.msg, "unknown item \"all\"; menace-run(1) lists them all");
	assert_int_equal(mr_spec_add_best_effort(spec, "Memory", &err), -22);
	assert_string_equal(err.msg, "unknown item \"Memory\"; did you mean \"memory\"?");
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

static void bytes_that_are_not_text_print_too(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	mr_strv_add(&spec->argv, "/bin/\xff");
	assert_ok(mr_spec_add_env(spec, "\xfe=\xff", &err), &err);
	mr_auto_free char *text = mr_spec_print_canonical(spec);

	assert_non_null(strstr(text, "\"program\":[{\"base64\":\"L2Jpbi//\"}]"));
	assert_non_null(strstr(text, "\"env\":{\"=/g==\":{\"base64\":\"/w==\"}}"));
}

static void the_explained_document(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_ok(mr_spec_set_assignment(spec, "limits.pids_max=8", &err), &err);
	mr_auto_json json_t *document = mr_spec_to_json(spec);
	mr_auto_free char *pids =
		json_dumps(json_object_get(json_object_get(document, "limits"), "pids_max"),
			   JSON_SORT_KEYS | JSON_COMPACT);
	mr_auto_free char *wall =
		json_dumps(json_object_get(json_object_get(document, "limits"), "wall_ms"),
			   JSON_SORT_KEYS | JSON_COMPACT);
	mr_auto_free char *uid =
		json_dumps(json_object_get(json_object_get(document, "sandbox"), "uid"),
			   JSON_SORT_KEYS | JSON_COMPACT);

	assert_string_equal(pids, "{\"origin\":\"set\",\"text\":\"8\",\"unit\":\"processes\","
				  "\"value\":8}");
	assert_string_equal(wall, "{\"origin\":\"default\",\"text\":\"30s\",\"unit\":\"ms\","
				  "\"value\":30000}");
	assert_string_equal(uid, "{\"origin\":\"default\",\"value\":null}");
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
		  "sandbox.level: level 1 keeps capabilities and is not accepted without "
		  "sandbox.unsafe (--unsafe)" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"cwd\": \"work\"}",
		  "sandbox.cwd: \"work\" must be absolute and without \".\" and \"..\"" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"cwd\": \"/work/../etc\"}",
		  "sandbox.cwd: \"/work/../etc\" must be absolute and without \".\" and \"..\"" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"cwd\": \"//proc/self/fd/7\"}",
		  "sandbox.cwd: \"//proc/self/fd/7\": /proc is not accepted as working directory" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"hostname\": \"a b\"}",
		  "sandbox.hostname: \"a b\"; accepted: letters, digits, '-' and '.'" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"keep_changes\": \"out\"}",
		  "sandbox.keep_changes: there is no workspace whose changes could be kept "
		  "(--workspace DIR)" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"workspace\": \"w\"}, \"mounts\": "
		  "[{\"type\": \"tmpfs\", \"dest\": \"/work\"}]",
		  "mounts: /work is already taken by the workspace" },
		{ ", \"program\": [\"a\"], \"sandbox\": {\"tty\": true, \"stdin_path\": \"f\"}",
		  "sandbox.stdin_path: with a terminal (--tty) the input comes from it" },
		{ ", \"snippet\": {\"code\": \"print(1)\"}",
		  "lang: a snippet given as text needs a language (--lang python), or a \"#!\" "
		  "line" },
		{ ", \"snippet\": {\"code\": \"print(1)\", \"lang\": \"pyton\"}",
		  "lang: unknown language \"pyton\"; did you mean \"python\"?" },
		{ ", \"snippet\": {\"code\": \"\", \"lang\": \"cobol\"}",
		  "lang: unknown language \"cobol\"; menace-run(1) lists them all" },
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
	assert_string_equal(mr_lang_suggest("prel"), "perl");
}

int main(void)
{
#define SPEC_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		SPEC_TEST(defaults),
		SPEC_TEST(the_table_is_sound),
		SPEC_TEST(bounds_of_every_numeric_knob),
		SPEC_TEST(range_message),
		SPEC_TEST(a_string_longer_than_its_bound),
		SPEC_TEST(a_lower_origin_is_checked_and_ignored),
		SPEC_TEST(bare_numbers_of_times),
		SPEC_TEST(assignments),
		SPEC_TEST(a_document_with_everything),
		SPEC_TEST(snippets_of_documents),
		SPEC_TEST(refused_documents),
		SPEC_TEST(a_document_wins_over_its_preset),
		SPEC_TEST(environment_entries),
		SPEC_TEST(mount_arguments),
		SPEC_TEST(refused_mount_arguments),
		SPEC_TEST(best_effort_items),
		SPEC_TEST(the_canonical_text_is_read_back),
		SPEC_TEST(equal_requests_have_equal_hashes),
		SPEC_TEST(bytes_that_are_not_text_print_too),
		SPEC_TEST(the_explained_document),
		SPEC_TEST(a_copy_shares_nothing),
		SPEC_TEST(rules_across_knobs),
		SPEC_TEST(languages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
