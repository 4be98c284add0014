/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: what acts, what is refused, what best_effort lets pass
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/spec/spec.h"
#include "tests/lib/spec.h"

static int apply(struct mr_spec *spec, const char *text, struct mr_error *err)
{
	return mr_preset_apply_json(spec, text, strlen(text), "p", MR_ORIGIN_PRESET, err);
}

static void apply_ok(struct mr_spec *spec, const char *text)
{
	struct mr_error err = MR_ERROR_INIT;

	assert_ok(apply(spec, text, &err), &err);
}

static void assert_refused(struct mr_spec *spec, const char *text, const char *message)
{
	struct mr_error err = MR_ERROR_INIT;

	assert_int_equal(apply(spec, text, &err), -22);
	assert_string_equal(err.msg, message);
	assert_int_equal(err.code, MR_E_USAGE);
}

static void variables_that_act(void **state)
{
	struct mr_spec *spec = *state;

	apply_ok(spec,
		 "{\"CPU_LIMIT\": \"0.1\", \"MEMORY_LIMIT\": \"4Mi\", \"DISK_LIMIT\": \"512mb\","
		 " \"TIMEOUT\": 1.5, \"CPU_SECONDS\": 2, \"IDLE_TIMEOUT\": \"500ms\","
		 " \"MAX_THREADS\": 100, \"OUTPUT_LIMIT\": 1000, \"SECURITY_LEVEL\": 5}");
	assert_int_equal(spec->limits_cpus, 100);
	assert_int_equal(spec->limits_memory_max_bytes, 4194304);
	assert_int_equal(spec->limits_disk_bytes, 536870912);
	assert_int_equal(spec->limits_wall_ms, 1500);
	assert_int_equal(spec->limits_cpu_time_ms, 2000);
	assert_int_equal(spec->limits_idle_ms, 500);
	assert_int_equal(spec->limits_pids_max, 100);
	assert_int_equal(spec->limits_output_bytes, 1000);
	assert_int_equal(spec->sandbox_level, 5);
	assert_int_equal(spec->origin[MR_FIELD_limits_wall_ms], MR_ORIGIN_PRESET);
	assert_int_equal(spec->unenforced.n, 0);
}

static void accepted_forms_of_the_limits(void **state)
{
	struct mr_spec *spec = *state;

	apply_ok(spec, "{\"CPU_LIMIT\": 4, \"MEMORY_LIMIT\": \"4gi\"}");
	assert_int_equal(spec->limits_cpus, 4000);
	assert_int_equal(spec->limits_memory_max_bytes, UINT64_C(4294967296));
	apply_ok(spec, "{\"CPU_LIMIT\": \"64\", \"MEMORY_LIMIT\": \"64Gi\", \"TIMEOUT\": \"2m\"}");
	assert_int_equal(spec->limits_cpus, 64000);
	assert_int_equal(spec->limits_wall_ms, 120000);
	/* What a validator takes as a whole: text, any case, a rate beside it. */
	apply_ok(spec, "{\"CPU_LIMIT\": \"4\", \"MEMORY_LIMIT\": \"4gi\","
		       " \"MAX_BANDWIDTH\": \"100kbps\"}");
	assert_int_equal(spec->limits_cpus, 4000);
	assert_int_equal(spec->limits_memory_max_bytes, UINT64_C(4294967296));
	assert_int_equal(spec->net_rate_max, 100000);
	apply_ok(spec, "{\"MEMORY_LIMIT\": 1048576, \"CPU_LIMIT\": 0.01}");
	assert_int_equal(spec->limits_memory_max_bytes, 1048576);
	assert_int_equal(spec->limits_cpus, 10);
}

static void limits_that_are_refused(void **state)
{
	static const char *const rows[] = {
		"{\"CPU_LIMIT\": 0}",
		"{\"CPU_LIMIT\": 65}",
		"{\"CPU_LIMIT\": -1}",
		"{\"CPU_LIMIT\": \"foo\"}",
		"{\"CPU_LIMIT\": \"\"}",
		"{\"CPU_LIMIT\": \"nan\"}",
		"{\"CPU_LIMIT\": 64.001}",
		"{\"CPU_LIMIT\": null}",
		"{\"CPU_LIMIT\": true}",
		"{\"CPU_LIMIT\": [1]}",
		"{\"MEMORY_LIMIT\": 0}",
		"{\"MEMORY_LIMIT\": \"65gi\"}",
		"{\"MEMORY_LIMIT\": \"foo\"}",
		"{\"MEMORY_LIMIT\": \"foo5bar\"}",
		"{\"MEMORY_LIMIT\": \"-5Mi\"}",
		"{\"MEMORY_LIMIT\": 68719476737}",
		"{\"MAX_THREADS\": 0}",
		"{\"MAX_THREADS\": 1.5}",
		"{\"TIMEOUT\": 0}",
		"{\"TIMEOUT\": \"-1\"}",
		"{\"SECURITY_LEVEL\": 0}",
		"{\"SECURITY_LEVEL\": 6}",
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (apply(spec, rows[i], &err) != -22)
			fail_msg("%s was accepted", rows[i]);
	assert_refused(spec, "{\"MEMORY_LIMIT\": \"65gi\"}",
		       "p: MEMORY_LIMIT: \"65gi\" is out of range; accepted: 1Mi to 64Gi, or "
		       "unlimited");
	assert_refused(spec, "[{\"CPU_LIMIT\": \"foo\"}]",
		       "p: [0].CPU_LIMIT: \"foo\" is not a decimal number: it is not a number; "
		       "accepted: digits with an optional fraction, as in 2 or 0.5");
	assert_refused(spec, "{\"CPU_LIMIT\": true}",
		       "p: CPU_LIMIT: a boolean where a string or a number is expected");
}

static void unknown_variables(void **state)
{
	struct mr_spec *spec = *state;

	assert_refused(spec, "{\"MEMORY_LIMT\": \"1Gi\"}",
		       "p: unknown preset variable \"MEMORY_LIMT\"; did you mean "
		       "\"MEMORY_LIMIT\"?");
	assert_refused(spec, "{\"XYZZY\": 1}",
		       "p: unknown preset variable \"XYZZY\"; menace-spec(5) lists them all");
	assert_refused(spec, "{\"SANDBOX_DOCKER\": 1}",
		       "p: SANDBOX_DOCKER is a variable of the environment, not of a preset");
	assert_refused(spec, "{\"SANDBOX_PRESET_SCHEMA_CHECKS\": 1}",
		       "p: SANDBOX_PRESET_SCHEMA_CHECKS is a variable of the environment, not of a "
		       "preset");
}

static void what_asks_for_nothing_passes(void **state)
{
	struct mr_spec *spec = *state;

	apply_ok(spec,
		 "{\"NETWORK_LATENCY_MS\": 0, \"NETWORK_JITTER_MS\": \"0\", \"PACKET_LOSS\": 0.0,"
		 " \"PACKET_DUPLICATION\": \"0%\", \"GPU_LIMIT\": \"0\", \"THREAT_INTENSITY\": 0,"
		 " \"THREAD_BURST\": 0, \"CONCURRENCY_LEVEL\": 1, \"CPU_SPIKE\": false,"
		 " \"FAILURE_MODES\": [[], \"\", [\"none\"]], \"OS_TYPE\": \"Linux\","
		 " \"API_LATENCY_MS\": 0, \"SCENARIO_NAME\": \"normal\"}");
	assert_int_equal(spec->unenforced.n, 0);
	assert_string_equal(spec->name, "normal");
	apply_ok(spec, "{\"SCENARIO_NAME\": \"other\", \"FAILURE_MODES\": null}");
	assert_string_equal(spec->name, "normal");
}

static const struct {
	const char *name;
	const char *text;
} asking[] = {
	{ "GPU_LIMIT", "{\"GPU_LIMIT\": 1}" },
	{ "DISK_IO_THROTTLE", "{\"DISK_IO_THROTTLE\": 100}" },
	{ "CONCURRENCY_LEVEL", "{\"CONCURRENCY_LEVEL\": 8}" },
	{ "CONCURRENCY_MULTIPLIER", "{\"CONCURRENCY_MULTIPLIER\": 4}" },
	{ "SANDBOX_STUB_STRATEGY", "{\"SANDBOX_STUB_STRATEGY\": \"hostile\"}" },
};

static void conditions_of_the_network_are_knobs(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} bad[] = {
		{ "{\"PACKET_LOSS\": 101}",
		  "p: PACKET_LOSS: \"101\" is not a percentage: it is out of range; accepted: 0 to "
		  "100, with an optional %, as in 5% or 0.1" },
		{ "{\"PACKET_DUPLICATION\": \"-1%\"}", NULL },
		{ "{\"NETWORK_LATENCY_MS\": -1}",
		  "p: NETWORK_LATENCY_MS: \"-1\" is not a decimal number: it is negative; "
		  "accepted: digits with an optional fraction, as in 2 or 0.5" },
		{ "{\"NETWORK_LATENCY_MS\": 3600001}",
		  "p: NETWORK_LATENCY_MS: \"3600001\" is out of range; accepted: 0 to 3600000" },
		{ "{\"NETWORK_JITTER_MS\": 2147.001}",
		  "p: NETWORK_JITTER_MS: \"2147.001\" is out of range; accepted: 0 to 2147" },
		{ "{\"BANDWIDTH_LIMIT\": \"0kbps\"}", NULL },
		{ "{\"BANDWIDTH_LIMIT\": 7}",
		  "p: BANDWIDTH_LIMIT: \"7\" is out of range; accepted: 8 to 10gbit, or "
		  "unlimited" },
		{ "{\"BANDWIDTH_LIMIT\": \"20gbps\"}", NULL },
		{ "{\"BANDWIDTH_LIMIT\": \"foo\"}", NULL },
		{ "{\"MIN_BANDWIDTH\": \"0kbps\"}", NULL },
		{ "{\"MIN_BANDWIDTH\": \"20gbps\"}", NULL },
		{ "{\"MIN_BANDWIDTH\": \"foo\"}", NULL },
		{ "{\"MAX_BANDWIDTH\": \"0kbps\"}", NULL },
		{ "{\"MAX_BANDWIDTH\": \"20gbps\"}", NULL },
		{ "{\"MAX_BANDWIDTH\": \"foo\"}", NULL },
		{ "{\"BANDWIDTH_LIMIT\": true}",
		  "p: BANDWIDTH_LIMIT: a boolean where a string or a number is expected" },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	apply_ok(spec, "{\"NETWORK_LATENCY_MS\": 0.5, \"NETWORK_JITTER_MS\": \"2147\","
		       " \"PACKET_LOSS\": 0.05, \"PACKET_DUPLICATION\": \"5%\","
		       " \"MIN_BANDWIDTH\": \"100kbps\", \"MAX_BANDWIDTH\": \"10gbit\","
		       " \"BANDWIDTH_LIMIT\": 8}");
	assert_int_equal(spec->unenforced.n, 0);
	assert_int_equal(spec->net_latency_ms, 500);
	assert_int_equal(spec->net_jitter_ms, 2147000);
	assert_int_equal(spec->net_loss_percent, 500); /* a bare number is percent */
	assert_int_equal(spec->net_duplicate_percent, 50000);
	assert_int_equal(spec->net_rate_min, 100000);
	assert_int_equal(spec->net_rate_max, 10000000000);
	assert_int_equal(spec->net_rate, 8);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		fresh(spec);
		assert_int_equal(apply(spec, bad[i].text, &err), -22);
		if (bad[i].message)
			assert_string_equal(err.msg, bad[i].message);
	}
}

static void what_is_not_enforced_is_refused(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(asking); i++) {
		if (apply(spec, asking[i].text, &err) != -22)
			fail_msg("%s was accepted", asking[i].text);
		assert_non_null(strstr(err.msg, "not enforced by this version"));
		assert_non_null(strstr(err.msg, asking[i].name));
	}
	assert_int_equal(spec->unenforced.n, 0);
	assert_refused(spec, "{\"GPU_LIMIT\": 5}",
		       "p: GPU_LIMIT: not enforced by this version (number of accelerators); "
		       "leave it out, or accept that with best_effort (--best-effort GPU_LIMIT)");
}

static void best_effort_records_what_is_not_enforced(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(asking); i++) {
		fresh(spec);
		assert_int_equal(mr_spec_add_best_effort(spec, asking[i].name, &err), 0);
		apply_ok(spec, asking[i].text);
		apply_ok(spec, asking[i].text);
		assert_int_equal(spec->unenforced.n, 1);
		assert_string_equal(spec->unenforced.v[0], asking[i].name);
	}
}

static void the_grammar_is_checked_even_with_best_effort(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		const char *message;
	} rows[] = {
		{ "GPU_LIMIT", "{\"GPU_LIMIT\": 0.5}", NULL },
		{ "FAILURE_MODES", "{\"FAILURE_MODES\": \"netwrok\"}",
		  "p: FAILURE_MODES: unknown failure mode \"netwrok\"; did you mean \"network\"?" },
		{ "FAILURE_MODES", "{\"FAILURE_MODES\": [\"disk\", [\"xyzzy\"]]}",
		  "p: FAILURE_MODES[1][0]: unknown failure mode \"xyzzy\"" },
		{ "FAILURE_MODES", "{\"FAILURE_MODES\": 5}",
		  "p: FAILURE_MODES: a number where a string is expected" },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		fresh(spec);
		assert_int_equal(mr_spec_add_best_effort(spec, rows[i].name, &err), 0);
		assert_int_equal(apply(spec, rows[i].text, &err), -22);
		if (rows[i].message)
			assert_string_equal(err.msg, rows[i].message);
		assert_int_equal(spec->unenforced.n, 0);
	}
}

/* Variables of machines: in any order, and with the times of the specification. */
static void machines_are_knobs(void **state)
{
	static const struct {
		const char *text, *image;
		uint64_t wall_ms, memory;
	} rows[] = {
		{ "{}", "", 30000, 2147483648 },
		{ "{\"OS_TYPE\": \"Linux\"}", "", 30000, 2147483648 },
		{ "{\"VM_SETTINGS\": {}}", "", 30000, 2147483648 },
		{ "{\"VM_SETTINGS\": {\"image\": \"/a\"}}", "/a", 300000, 2147483648 },
		{ "{\"VM_SETTINGS\": {\"windows_image\": \"/w\", \"memory\": \"4Gi\"},"
		  " \"OS_TYPE\": \"windows\"}",
		  "/w", 300000, 4294967296 },
		{ "{\"OS_TYPE\": \"macos\", \"VM_SETTINGS\": {\"windows_image\": \"/w\","
		  " \"image\": \"/a\"}, \"TIMEOUT\": 9}",
		  "/a", 9000, 2147483648 },
		{ "{\"VM_SETTINGS\": {\"image\": \"/a\", \"linux_image\": \"/l\","
		  " \"timeout\": 600}, \"TIMEOUT\": 9}",
		  "/l", 600000, 2147483648 },
		{ "{\"OS_TYPE\": \"windows\"}", "", 300000, 2147483648 },
	};
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		fresh(spec);
		apply_ok(spec, rows[i].text);
		assert_string_equal(mr_spec_vm_image(spec), rows[i].image);
		assert_int_equal(spec->limits_wall_ms, rows[i].wall_ms);
		assert_int_equal(spec->sandbox_vm_memory_bytes, rows[i].memory);
		assert_int_equal(mr_spec_wants_vm(spec), rows[i].wall_ms != 30000);
		assert_int_equal(spec->unenforced.n, 0);
	}
	fresh(spec);
	apply_ok(spec, "{\"VM_SETTINGS\": {\"windows_image\": \"/w\"}}");
	assert_false(mr_spec_wants_vm(spec));
	apply_ok(spec, "{\"OS_TYPE\": \"windows\"}");
	assert_int_equal(spec->limits_wall_ms, 300000);
}

static void settings_of_machines_are_checked(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "{\"OS_TYPE\": \"window\"}",
		  "p: OS_TYPE: unknown word \"window\"; accepted: linux, windows, macos" },
		{ "{\"VM_SETTINGS\": \"x\"}",
		  "p: VM_SETTINGS: a string where an object is expected" },
		{ "{\"VM_SETTINGS\": {\"window_image\": \"x\"}}",
		  "p: VM_SETTINGS: unknown member \"window_image\"; did you mean "
		  "\"windows_image\"?" },
		{ "{\"VM_SETTINGS\": {\"memory\": \"4Qi\"}}", NULL },
		{ "{\"VM_SETTINGS\": {\"memory\": \"65Gi\"}}", NULL },
		{ "{\"VM_SETTINGS\": {\"memory\": 0}}", NULL },
		{ "{\"VM_SETTINGS\": {\"timeout\": -1}}", NULL },
		{ "{\"VM_SETTINGS\": {\"image\": 5}}", NULL },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		fresh(spec);
		if (apply(spec, bad[i].text, &err) != -22)
			fail_msg("%s was accepted", bad[i].text);
		if (bad[i].message)
			assert_string_equal(err.msg, bad[i].message);
	}
}

static void a_machine_that_will_not_be_is_asked_nothing(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "{\"VM_SETTINGS\": {\"windows_image\": \"/w\"}}",
		  "VM_SETTINGS: there is no image for linux; sandbox.os (OS_TYPE) says which "
		  "system "
		  "is meant" },
		{ "{\"VM_SETTINGS\": {\"memory\": \"4Gi\"}}",
		  "sandbox.vm_memory_bytes: there is no machine that could have it; name its image "
		  "(VM_SETTINGS: image, sandbox.vm_image)" },
		{ "{\"OS_TYPE\": \"windows\"}", NULL },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		fresh(spec);
		mr_strv_add(&spec->argv, "true");
		apply_ok(spec, rows[i].text);
		assert_int_equal(mr_spec_validate(spec, &err), rows[i].message ? -22 : 0);
		if (rows[i].message)
			assert_string_equal(err.msg, rows[i].message);
	}
}

static void lists_of_presets(void **state)
{
	struct mr_spec *spec = *state;

	assert_refused(spec, "[]", "p: an empty list where an object is expected");
	apply_ok(spec, "[{\"MAX_THREADS\": 5}]");
	assert_int_equal(spec->limits_pids_max, 5);
	assert_refused(spec, "[{}, {}]", "p: 2 presets; menace-run runs one preset at a time");
	assert_refused(spec, "[5]", "p: [0]: a number where an object is expected");
	assert_refused(spec, "\"x\"", "p: a string where an object is expected");
	assert_refused(spec, "{\"TIMEOUT\": 1, \"TIMEOUT\": 2}",
		       "p:1:24: duplicate object key near '\"TIMEOUT\"'");
}

static void every_builtin_is_accepted(void **state)
{
	size_t n;
	const struct mr_spec_item *builtins = mr_preset_builtins(&n);
	struct mr_spec *spec = *state;

	assert_in_range(n, 4, 100);
	for (size_t i = 0; i < n; i++) {
		struct mr_error err = MR_ERROR_INIT;

		fresh(spec);
		if (mr_preset_apply_arg(spec, builtins[i].name, "-p", &err) != 0)
			fail_msg("%s: %s", builtins[i].name, err.msg);
		mr_strv_add(&spec->argv, "true");
		if (mr_spec_validate(spec, &err) != 0)
			fail_msg("%s: %s", builtins[i].name, err.msg);
		assert_int_equal(spec->unenforced.n, 0);
	}
}

static void preset_arguments(void **state)
{
	char path[] = "/tmp/menace-preset-XXXXXX";
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;
	char expected[128];
	int fd;

	assert_int_equal(mr_preset_apply_arg(spec, " {\"MAX_THREADS\": 6}", "-p", &err), 0);
	assert_int_equal(spec->limits_pids_max, 6);
	assert_int_equal(mr_preset_apply_arg(spec, "{\"MAX_THREADS\": 0}", "-p", &err), -22);
	assert_string_equal(err.msg, "-p: MAX_THREADS: \"0\" is out of range; accepted: 1 to "
				     "4194304, or unlimited");
	assert_int_equal(mr_preset_apply_arg(spec, "tinny", "-p", &err), -22);
	assert_string_equal(err.msg, "-p: no preset \"tinny\"; did you mean \"tiny\"?");
	assert_int_equal(mr_preset_apply_arg(spec, "nowhere", "-p", &err), -22);
	assert_string_equal(err.msg,
			    "-p: no preset \"nowhere\": neither a built-in one (default, tiny, "
			    "strict, build) nor a file");
	assert_true(mr_preset_apply_arg(spec, "/nonexistent/p.json", "-p", &err) < 0);
	assert_non_null(strstr(err.msg, "/nonexistent/p.json"));
	assert_non_null(strstr(err.msg, "No such file or directory"));
	assert_int_equal(err.code, MR_E_USAGE);

	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{\"MAX_THREADS\":\n9x}", 19), 19);
	assert_int_equal(mr_preset_apply_arg(spec, path, "-p", &err), -22);
	snprintf(expected, sizeof(expected), "-p: %s:2:2: '}' expected near 'x'", path);
	assert_string_equal(err.msg, expected);
	assert_int_equal(pwrite(fd, "{\"MAX_THREADS\":\n9 }", 19, 0), 19);
	assert_int_equal(mr_preset_apply_arg(spec, path, "-p", &err), 0);
	assert_int_equal(spec->limits_pids_max, 9);
	unlink(path);
	close(fd);
}

static void arguments_that_are_no_object(void **state)
{
	static const char *const rows[][2] = {
		{ "[]", "-p: an empty list where an object is expected" },
		{ " [ ] ", "-p: an empty list where an object is expected" },
		{ "\"x\"", "-p: a string where an object is expected" },
		{ "\"tiny\"", "-p: a string where an object is expected" },
		{ "5", "-p: a number where an object is expected" },
		{ "-0.5", "-p: a number where an object is expected" },
		{ "true", "-p: a boolean where an object is expected" },
		{ "null", "-p: null where an object is expected" },
		{ "[[]]", "-p: [0]: a list where an object is expected" },
		{ "\"x", "-p:1:2: premature end of input near '\"x'" },
		{ "5 5", "-p: no preset \"5 5\": neither a built-in one (default, tiny, strict, "
			 "build) nor a file" },
		{ "", "-p: no preset \"\": neither a built-in one (default, tiny, strict, build) "
		      "nor a file" },
	};
	struct mr_spec *spec = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;

		assert_int_equal(mr_preset_apply_arg(spec, rows[i][0], "-p", &err), -22);
		assert_string_equal(err.msg, rows[i][1]);
		assert_int_equal(mr_errc_exit_status(err.code), 2);
	}
}

static int apply_environment(struct mr_spec *spec, const char *a, const char *b,
			     struct mr_error *err)
{
	mr_auto_free char *first = strdup(a);
	mr_auto_free char *second = strdup(b);
	char *environment[] = { first, second, NULL };

	return mr_preset_apply_environment(spec, environment, err);
}

static void the_environment(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec *spec = *state;

	assert_int_equal(apply_environment(spec, "SANDBOX_TIMEOUT=5",
					   "SANDBOX_MEMORY_LIMIT=2097152", &err),
			 0);
	assert_int_equal(spec->limits_wall_ms, 5000);
	assert_int_equal(spec->limits_memory_max_bytes, 2097152);
	assert_int_equal(spec->origin[MR_FIELD_limits_wall_ms], MR_ORIGIN_ENVIRONMENT);
	/* The preset is the more exact of the two, wherever it stands. */
	assert_int_equal(apply_environment(spec, "SANDBOX_ENV_PRESETS=[{\"TIMEOUT\": 7}]",
					   "SANDBOX_TIMEOUT=6", &err),
			 0);
	assert_int_equal(spec->limits_wall_ms, 7000);
	apply_ok(spec, "{\"TIMEOUT\": 8}");
	assert_int_equal(apply_environment(spec, "SANDBOX_ENV_PRESETS={\"TIMEOUT\": 9}", "X=1",
					   &err),
			 0);
	assert_int_equal(spec->limits_wall_ms, 8000);
	assert_int_equal(apply_environment(spec, "SANDBOX_ENV_PRESETS=", "SANDBOX_TIMEOUT=", &err),
			 0);
	assert_int_equal(apply_environment(spec, "SANDBOX_ENV_PRESETS=[]", "X=1", &err), 0);
	assert_int_equal(apply_environment(spec, "SANDBOX_ENV_PRESETS=5", "X=1", &err), -22);
	assert_string_equal(err.msg, "SANDBOX_ENV_PRESETS: a number where an object is expected");
	assert_int_equal(apply_environment(spec, "SANDBOX_ENV_PRESETS={", "X=1", &err), -22);
	assert_string_equal(err.msg, "SANDBOX_ENV_PRESETS:1:1: string or '}' expected near end of "
				     "file");
	assert_int_equal(apply_environment(spec, "SANDBOX_ENV_PRESETS=[{},{}]", "X=1", &err), -22);
	assert_string_equal(err.msg,
			    "SANDBOX_ENV_PRESETS: 2 presets; menace-run runs one preset at "
			    "a time");
	assert_int_equal(apply_environment(spec, "SANDBOX_TIMEOUT=-1", "X=1", &err), -22);
	assert_string_equal(err.msg, "SANDBOX_TIMEOUT: \"-1\" is not a time: it is negative; "
				     "accepted: a number of seconds, or with a unit ms, s, m, h, d "
				     "or w, as in 1.5, 500ms or 2m");
}

static void warnings_of_the_environment(void **state)
{
	char known[] = "SANDBOX_STUB_SEED=1";
	char family[] = "SANDBOX_EC_NULLS=off";
	char unread[] = "SANDBOX_DOCKER=1";
	char unread_family[] = "SANDBOX_CONTAINER_IMAGE_LINUX=x";
	char empty[] = "SANDBOX_HOSTILE_STRATEGY_HOOK=";
	char near_family[] = "SANDBOX_EE_=1";
	char typo[] = "SANDBOX_TIMOUT=5";
	char far[] = "SANDBOX_\033ABCDEFGHIJKLMNOP=5";
	char other[] = "PATH=/bin";
	char *environment[] = { known, family, typo,	      far,	   other,
				empty, unread, unread_family, near_family, NULL };
	struct mr_strv warnings = { 0 };

	(void)state;
	mr_preset_warn_environment(environment, &warnings);
	assert_int_equal(warnings.n, 5);
	assert_string_equal(warnings.v[0],
			    "unknown variable \"SANDBOX_TIMOUT\" in the environment; "
			    "did you mean SANDBOX_TIMEOUT?");
	assert_string_equal(warnings.v[1], "unknown variable \"SANDBOX_\\x1bABCDEFGHIJKLMNOP\" in "
					   "the environment");
	assert_string_equal(warnings.v[2], "nothing of this version acts on the variable "
					   "\"SANDBOX_DOCKER\" of the "
					   "environment");
	assert_string_equal(warnings.v[3], "nothing of this version acts on the variable "
					   "\"SANDBOX_CONTAINER_IMAGE_LINUX\" of the environment");
	/* A family is no name that anybody could have meant. */
	assert_null(strstr(warnings.v[4], "SANDBOX_EC_?"));
	mr_strv_clear(&warnings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SPEC_TEST(variables_that_act),
		SPEC_TEST(accepted_forms_of_the_limits),
		SPEC_TEST(limits_that_are_refused),
		SPEC_TEST(unknown_variables),
		SPEC_TEST(what_asks_for_nothing_passes),
		SPEC_TEST(conditions_of_the_network_are_knobs),
		SPEC_TEST(what_is_not_enforced_is_refused),
		SPEC_TEST(best_effort_records_what_is_not_enforced),
		SPEC_TEST(the_grammar_is_checked_even_with_best_effort),
		SPEC_TEST(lists_of_presets),
		SPEC_TEST(machines_are_knobs),
		SPEC_TEST(settings_of_machines_are_checked),
		SPEC_TEST(a_machine_that_will_not_be_is_asked_nothing),
		SPEC_TEST(every_builtin_is_accepted),
		SPEC_TEST(preset_arguments),
		SPEC_TEST(arguments_that_are_no_object),
		SPEC_TEST(the_environment),
		SPEC_TEST(warnings_of_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
