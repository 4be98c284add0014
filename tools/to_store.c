/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To the store
 *
 * The record borrows most of the result; what is large or nobody's business is
 * replaced in copies: the output by its beginning, arguments that look like
 * secrets by a word, the map of steps by a list, which keeps their order.
 */
#include "tools/to_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"
#include "runtime/spec/spec.h"
#include "runtime/store/canon.h"
#include "runtime/store/record.h"
#include "runtime/store/redact.h"

#define ARGV_MAX 8192
#define HEAD_MAX 1024
#define CHANGES_MAX 1000 /* kept of a record that would be too large */

void mr_to_store_init(struct mr_to_store *to, const char *choice)
{
	struct mr_error err = MR_ERROR_INIT;
	int r;

	*to = (struct mr_to_store){ .spool.fd = -1 };
	r = mr_place_find(choice, &to->place, &err);
	to->off = r > 0;
	if (r < 0)
		to->failed = mr_str_dup(err.msg);
}

void mr_to_store_deinit(struct mr_to_store *to)
{
	if (to->lost > 1)
		mr_log_error("%" PRIu64 " runs are not kept", to->lost);
	mr_spool_close(&to->spool);
	mr_freep(&to->record);
	mr_freep(&to->failed);
	mr_place_deinit(&to->place);
	*to = (struct mr_to_store){ .off = true, .spool.fd = -1 };
}

/* --- the record ------------------------------------------------------------ */

/* Where a text may be cut at or before max without splitting a character. */
static size_t cut(const char *text, size_t size, size_t max)
{
	if (size <= max)
		return size;
	while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

/* bytes, truncated, omitted_bytes, encoding, and of what was captured the head. */
static json_t *trim_output(const json_t *stream)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)stream);
	static const char *const bodies[] = { "text", "base64", "head" };
	const char *begin = "";
	size_t size = 0;

	for (size_t i = 0; i < N_ELEMENTS(bodies); i++) {
		const json_t *body = json_object_get(copy, bodies[i]);

		if (!json_is_string(body))
			continue;
		begin = json_string_value(body);
		size = json_string_length(body);
		break;
	}
	/* A multiple of four: what is left of base64 can still be decoded. */
	json_t *head = json_stringn_nocheck(begin, cut(begin, size, HEAD_MAX));

	for (size_t i = 0; i < N_ELEMENTS(bodies); i++)
		json_object_del(copy, bodies[i]);
	json_object_del(copy, "tail");
	json_object_set_new(copy, "head", head);
	return copy;
}

static json_t *list_steps(const json_t *timings)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)timings);
	json_t *list = json_array();
	const char *name;
	json_t *us;

	json_object_foreach (json_object_get(timings, "steps_us"), name, us)
		json_array_append_new(list,
				      json_pack("{s:s, s:I}", "name", name, "took_ns",
						(json_int_t)(json_number_value(us) * 1000 + 0.5)));
	json_object_del(copy, "steps_us");
	json_object_set_new(copy, "steps", list);
	return copy;
}

/* Arguments seen by the kernel are as secret as those we were given. */
static void redact_member(json_t *row, const char *key)
{
	const json_t *argv = json_object_get(row, key);
	size_t n = json_array_size(argv);
	char **words = mr_str_alloc((n + 1) * sizeof(*words));

	for (size_t i = 0; i < n; i++)
		words[i] = (char *)(uintptr_t)json_string_value(json_array_get(argv, i));
	if (json_is_array(argv))
		json_object_set_new(row, key, mr_redact_argv(words, n, ARGV_MAX).argv);
	free(words);
}

/* Copies of rows, redacted; argv is a member of the row, or of its detail. */
static json_t *redact_rows(const json_t *rows)
{
	json_t *copies = json_array();

	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *row = json_copy(json_array_get(rows, i));
		json_t *detail = json_copy(json_object_get(row, "detail"));

		redact_member(row, "argv");
		if (detail) {
			redact_member(detail, "argv");
			json_object_set_new(row, "detail", detail);
		}
		json_array_append_new(copies, row);
	}
	return copies;
}

/* In the store what is not known has no row. */
static json_t *without_nulls(const json_t *object)
{
	json_t *copy = json_object();
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)object, key, value)
		if (!json_is_null(value))
			json_object_set(copy, key, value);
	return copy;
}

static json_t *trim_telemetry(const json_t *telemetry)
{
	json_t *copy = without_nulls(telemetry);
	const json_t *counters = json_object_get(copy, "counters");

	if (counters)
		json_object_set_new(copy, "counters", without_nulls(counters));
	for (size_t i = 0; i < 2; i++) {
		const char *key = (const char *const[]){ "processes", "events" }[i];
		const json_t *rows = json_object_get(copy, key);

		if (rows)
			json_object_set_new(copy, key, redact_rows(rows));
	}
	return copy;
}

static json_t *trim_result(const json_t *result)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)result);

	json_object_set_new(copy, "stdout", trim_output(json_object_get(result, "stdout")));
	json_object_set_new(copy, "stderr", trim_output(json_object_get(result, "stderr")));
	json_object_set_new(copy, "telemetry",
			    trim_telemetry(json_object_get(result, "telemetry")));
	json_object_set_new(copy, "timings", list_steps(json_object_get(result, "timings")));
	return copy;
}

/* Arguments with what is run in front. */
static void add_program(json_t *record, const struct mr_spec *spec)
{
	struct mr_redacted words = mr_redact_argv(spec->argv.v, spec->argv.n, ARGV_MAX);
	bool is_snippet = spec->snippet_path || spec->snippet_code;
	const char *snippet = spec->snippet_path ? spec->snippet_path
			      : spec->lang	 ? spec->lang
						 : "snippet";
	char hash[MR_HASH_HEX_SIZE];
	json_t *program = json_incref(json_array_get(words.argv, 0));

	if (is_snippet) {
		char *list[] = { (char *)(uintptr_t)snippet };
		struct mr_redacted one = mr_redact_argv(list, 1, ARGV_MAX);

		json_decref(program);
		program = json_incref(json_array_get(one.argv, 0));
		json_array_insert(words.argv, 0, program);
		json_decref(one.argv);
	}
	json_object_set_new(record, "program", program ? program : json_string("?"));
	json_object_set_new(record, "argv", words.argv);
	json_object_set_new(record, "argv_bytes", json_integer((json_int_t)words.bytes));
	json_object_set_new(record, "argv_truncated", json_boolean(words.truncated));
	json_object_set_new(record, "lang",
			    spec->lang && is_snippet ? json_string(spec->lang) : json_null());
	if (spec->snippet_code)
		mr_hash_hex(spec->snippet_code, spec->snippet_code_size, hash);
	json_object_set_new(record, "snippet_sha256",
			    spec->snippet_code ? json_string(hash) : json_null());
}

static json_t *make_record(const struct mr_spec *spec, const json_t *result, int64_t batch_index)
{
	struct utsname host;
	json_t *record;
	bool known = uname(&host) == 0;

	record = json_pack("{s:s, s:O, s:n, s:s?, s:I, s:o, s:I, s:I, s:o}", "schema",
			   MR_RECORD_SCHEMA, "run_id", json_object_get(result, "run_id"), "host",
			   "kernel", known ? host.release : NULL, "uid", (json_int_t)getuid(),
			   "batch_index", batch_index < 0 ? json_null() : json_integer(batch_index),
			   "stored_boot_ns", (json_int_t)mr_now_ns(), "stored_real_us",
			   (json_int_t)mr_clock_real_us(), "result", trim_result(result));
	mr_assert(record);
	if (known) /* a name is any bytes */
		mr_text_set(record, "host", host.nodename, strlen(host.nodename));
	add_program(record, spec);
	return record;
}

/* A run can change a million files: the first `max` are kept then, and how many are left out. */
static void shorten_changes(json_t *record, const json_t *result, size_t max)
{
	json_t *workspace = json_copy(json_object_get(result, "workspace"));
	json_t *changes = json_copy(json_object_get(workspace, "changes"));
	const json_t *all = json_object_get(changes, "entries");
	size_t n = json_array_size(all);
	json_t *some = json_array();

	for (size_t i = 0; i < n && i < max; i++)
		json_array_append(some, json_array_get(all, i));
	json_object_set_new(changes, "left_out",
			    json_integer((json_int_t)(n - json_array_size(some))));
	json_object_set_new(changes, "entries", some);
	json_object_set_new(workspace, "changes", changes);
	json_object_set_new(json_object_get(record, "result"), "workspace", workspace);
}

/* By our own printer: it takes a fifth of the time of jansson's, which looks for loops.  Names can
 * be so long that not even CHANGES_MAX of them fit, and a program must not choose to leave no
 * record: fewer and fewer then. */
static char *dump_record(const struct mr_spec *spec, const json_t *result, int64_t batch_index,
			 size_t *ret_size)
{
	mr_auto_json json_t *record = make_record(spec, result, batch_index);
	char *text = mr_canon_text(record, ret_size);

	if (*ret_size > MR_SPOOL_RECORD_MAX &&
	    json_object_del(json_object_get(record, "result"), "access") == 0) {
		free(text);
		text = mr_canon_text(record, ret_size);
	}
	for (size_t max = CHANGES_MAX; *ret_size > MR_SPOOL_RECORD_MAX; max /= 2) {
		free(text);
		shorten_changes(record, result, max);
		text = mr_canon_text(record, ret_size);
		if (max == 0)
			break;
	}
	return text;
}

/* --- keeping it ------------------------------------------------------------ */

/* Paths are any bytes, and so is what a message says of them. */
static void set_text(json_t *object, const char *key, const char *text)
{
	if (text)
		mr_text_set(object, key, text, strlen(text));
	else
		json_object_set_new(object, key, json_null());
}

static void say_failure(struct mr_to_store *to, json_t *result, const char *why)
{
	json_t *store = json_pack("{s:s}", "state", "failed");

	set_text(store, "path", to->place.db);
	set_text(store, "why", why);
	json_object_set_new(result, "store", store);
	to->lost++;
	mr_log_warn("the run is not kept: %s", why);
}

static void say_queued(const struct mr_to_store *to, json_t *result, const char *why)
{
	json_t *store = json_pack("{s:s}", "state", "queued");

	set_text(store, "path", to->place.db);
	set_text(store, "spool", to->spool.path);
	set_text(store, "why", why);
	json_object_set_new(result, "store", store);
}

void mr_to_store_queue(struct mr_to_store *to, const struct mr_spec *spec, json_t *result,
		       int64_t batch_index)
{
	struct mr_error err = MR_ERROR_INIT;
	int r;

	if (to->off) {
		json_object_set_new(result, "store", json_pack("{s:s}", "state", "off"));
		return;
	}
	if (to->failed) {
		say_failure(to, result, to->failed);
		return;
	}
	snprintf(to->run_id, sizeof(to->run_id), "%s",
		 json_string_value(json_object_get(result, "run_id")));
	to->record = dump_record(spec, result, batch_index, &to->record_size);
	r = mr_spool_open(&to->place, to->record_size, &to->spool, &err);
	if (r < 0) {
		mr_freep(&to->record);
		to->record = NULL;
		say_failure(to, result, err.msg);
		return;
	}
	say_queued(to, result, r > 0 ? err.msg : NULL);
	if (r > 0)
		mr_log_warn("the run is kept in %s until the next boot: %s", to->spool.path,
			    err.msg);
}

void mr_to_store_append(struct mr_to_store *to)
{
	struct mr_error err = MR_ERROR_INIT;
	int r;

	if (!to->record)
		return;
	/* The result is out and says "queued": which one it was is said here. */
	r = mr_spool_append(&to->spool, to->record, to->record_size, &err);
	if (r < 0) {
		to->lost++;
		mr_log_error("the run is not kept: %s: %s", to->run_id, err.msg);
	} else if (r > 0) {
		mr_log_warn("the run is kept in %s until the next boot: %s", to->spool.path,
			    err.msg);
	}
	mr_spool_close(&to->spool);
	mr_freep(&to->record);
	to->record = NULL;
}
