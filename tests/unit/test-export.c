/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export: escapes hold for any bytes, facts are in order and keep their numbers, unknown is absent
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/base/buf.h"
#include "runtime/export/escape.h"
#include "runtime/export/export.h"
#include "runtime/export/facts.h"
#include "runtime/export/map.h"
#include "runtime/store/query.h"
#include "tests/lib/storetree.h"

#define RUN_ID "01m8grcbq84h03083qe5vt6fs3"

/* --- escapes --------------------------------------------------------------- */

static void assert_escape(enum mr_escape_style style, const char *text, const char *expected)
{
	mr_auto_buf struct mr_buf out = { 0 };

	mr_escape(&out, style, text, strlen(text));
	assert_string_equal(out.text, expected);
}

static void each_style_escapes_its_own(void **state)
{
	static const char text[] = "a\\b\"c|d=e\nf\rg";

	(void)state;
	assert_escape(MR_ESCAPE_PROMETHEUS_LABEL, text, "a\\\\b\\\"c|d=e\\nf\\\\x0dg");
	assert_escape(MR_ESCAPE_PROMETHEUS_HELP, text, "a\\\\b\"c|d=e\\nf\\\\x0dg");
	assert_escape(MR_ESCAPE_CEF_HEADER, text, "a\\\\b\"c\\|d=e\\\\x0af\\\\x0dg");
	assert_escape(MR_ESCAPE_CEF_VALUE, text, "a\\\\b\"c|d\\=e\\nf\\rg");
}

static void what_acts_on_a_terminal_is_shown(void **state)
{
	(void)state;
	for (int style = 0; style < MR_ESCAPE_COUNT_; style++) {
		assert_escape((enum mr_escape_style)style, "\x1b[31m\x7f", "\\\\x1b[31m\\\\x7f");
		assert_escape((enum mr_escape_style)style,
			      "\xc2\x9b"
			      "1m",
			      "\\\\x9b1m");
		assert_escape((enum mr_escape_style)style, "\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6",
			      "\\\\u2028\\\\u202e\\\\u2066");
		assert_escape((enum mr_escape_style)style, "\xc3\xa9\xe2\x82\xac\xc2\xa0",
			      "\xc3\xa9\xe2\x82\xac\xc2\xa0");
		assert_escape((enum mr_escape_style)style,
			      "\xff"
			      "a\xc3",
			      "?a?");
	}
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Is each special byte behind a backslash, and each backslash the first of two? */
static void assert_escaped(const struct mr_buf *out, const char *special, const char *letters)
{
	for (size_t i = 0; i < out->len; i++) {
		unsigned char c = (unsigned char)out->text[i];

		assert_true(c >= 0x20 && c != 0x7f);
		if (c == '\\') {
			i++;
			assert_true(i < out->len && strchr(letters, out->text[i]));
			continue;
		}
		assert_null(strchr(special, c));
	}
}

/* Bytes at random, of which many are special to somebody. */
static void no_bytes_break_out(void **state)
{
	static const struct {
		const char *special, *letters;
	} styles[] = {
		[MR_ESCAPE_PROMETHEUS_LABEL] = { "\"", "\\\"n" },
		[MR_ESCAPE_PROMETHEUS_HELP] = { "", "\\n" },
		[MR_ESCAPE_CEF_HEADER] = { "|", "\\|" },
		[MR_ESCAPE_CEF_VALUE] = { "=", "\\=nr" },
	};
	static const char often[] = "\\\"|=\n\r\x1b\x7f\xc2\x9b\xe2\x80\xae\xff";
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		mr_auto_buf struct mr_buf out = { 0 };
		int style = round % MR_ESCAPE_COUNT_;
		char text[48];
		size_t n = next_random(&seed) % sizeof(text);

		for (size_t i = 0; i < n; i++)
			text[i] = next_random(&seed) % 2
					  ? often[next_random(&seed) % (sizeof(often) - 1)]
					  : (char)next_random(&seed);
		mr_escape(&out, (enum mr_escape_style)style, text, n);
		assert_true(mr_str_utf8_valid(out.text, out.len));
		assert_escaped(&out, styles[style].special, styles[style].letters);
		assert_true(out.len == 0 || strlen(out.text) == out.len);
	}
}

static void a_megabyte_is_escaped_whole(void **state)
{
	const size_t n = (size_t)1 << 20;
	mr_auto_free char *text = mr_str_alloc(n);
	mr_auto_buf struct mr_buf out = { 0 };

	(void)state;
	memset(text, '=', n);
	mr_escape(&out, MR_ESCAPE_CEF_VALUE, text, n);
	assert_int_equal(out.len, 2 * n);
}

/* --- facts ----------------------------------------------------------------- */

struct fixture {
	struct storetree t;
	struct mr_store *store;
	json_t *head;
};

static void open_record(struct fixture *f, const json_t *record)
{
	struct mr_error err = MR_ERROR_INIT;

	storetree_make(&f->t);
	if (mr_store_open(&f->t.place, MR_STORE_WRITE, 200, &f->store, &err) < 0 ||
	    mr_store_begin(f->store, &err) < 0 || mr_record_insert(f->store, record, &err) < 0 ||
	    mr_store_commit(f->store, &err) < 0)
		fail_msg("%s", err.msg);
	f->head = json_pack("{s:s, s:i, s:I}", "run_id", RUN_ID, "seq", 1, "time_us",
			    (json_int_t)1795000001000000);
}

static void open_with(struct fixture *f, json_t *stolen_telemetry)
{
	mr_auto_json json_t *record = make_record(RUN_ID);

	json_object_set_new(record, "stored_boot_ns", json_integer(2000000000));
	json_object_set_new(record, "stored_real_us", json_integer(1795836000000000));
	json_object_set_new(json_object_get(record, "result"), "telemetry", stolen_telemetry);
	open_record(f, record);
}

static void close_fixture(struct fixture *f)
{
	json_decref(f->head);
	mr_store_close(f->store);
	storetree_remove(&f->t);
}

static const struct mr_fact *find_fact(const struct mr_facts *facts, enum mr_fact_kind kind)
{
	for (size_t i = 0; i < facts->n; i++)
		if (facts->v[i].kind == kind)
			return &facts->v[i];
	fail_msg("no fact of kind %s", mr_fact_kind_name(kind));
	return NULL;
}

static json_int_t number_of(const struct mr_fact *fact, const char *key)
{
	const json_t *value = json_object_get(fact->row, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static const char *text_of(const struct mr_fact *fact, const char *key)
{
	const char *text = json_string_value(json_object_get(fact->row, key));

	assert_non_null(text);
	return text;
}

static void times_are_made_of_both_clocks(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_facts struct mr_facts facts = { 0 };
	struct fixture f = { 0 };

	(void)state;
	open_with(&f, json_pack("{s:[{s:I, s:s, s:i, s:I, s:s, s:{s:[s,s], s:i}}, "
				"{s:I, s:s, s:i, s:s, s:{s:i, s:i}}]}",
				"events", "boot_ns", (json_int_t)1999999999, "type", "exec", "tgid",
				7, "start_boot_ns", (json_int_t)1999999000, "object", "/bin/x",
				"detail", "argv", "x", "a b", "parent_tgid", 6, "boot_ns",
				(json_int_t)1500000000, "type", "connect", "tgid", 7, "object",
				"[::1]:53", "detail", "family", 10, "protocol", 17));
	assert_int_equal(mr_facts_load(f.store, f.head, &facts, &err), 0);

	const struct mr_fact *exec = find_fact(&facts, MR_FACT_exec);
	const struct mr_fact *connect = find_fact(&facts, MR_FACT_connect);

	assert_true(exec->time_ns == 1795836000000000000 - 1);
	assert_true(connect->time_ns == 1795836000000000000 - 500000000);
	assert_true(connect->n < exec->n);
	assert_true(number_of(exec, "start_ns") == 1795836000000000000 - 1000);
	assert_string_equal(text_of(exec, "process_uid"), "7-1999999000");
	assert_string_equal(text_of(exec, "cmd_line"), "x a b");
	assert_string_equal(text_of(exec, "exe"), "/bin/x");
	assert_int_equal(number_of(exec, "parent_tgid"), 6);
	assert_string_equal(exec->variant, "");
	assert_string_equal(text_of(connect, "remote"), "::1");
	assert_int_equal(number_of(connect, "remote_port"), 53);
	assert_string_equal(text_of(connect, "family"), "inet6");
	assert_string_equal(text_of(connect, "protocol"), "udp");
	assert_int_equal(facts.v[0].kind, MR_FACT_run_start);
	assert_int_equal(facts.v[facts.n - 1].kind, MR_FACT_run_end);
	close_fixture(&f);
}

/* Of ten seconds, with an event after one: whoever sets the clock meanwhile moves none of it. */
static void open_with_skew(struct fixture *f, int64_t skew_us)
{
	mr_auto_json json_t *record = make_record(RUN_ID);
	json_t *result = json_object_get(record, "result");

	json_object_set_new(record, "stored_boot_ns", json_integer(20000000000));
	json_object_set_new(record, "stored_real_us",
			    json_integer(1795836010000000 + (json_int_t)skew_us));
	json_object_set_new(result, "started_at", json_string("2026-11-28T03:20:00.000000Z"));
	json_object_set_new(json_object_get(result, "timings"), "clock_skew_ns",
			    json_integer((json_int_t)skew_us * 1000));
	json_object_set_new(result, "telemetry",
			    json_pack("{s:[{s:I, s:s, s:i}]}", "events", "boot_ns",
				      (json_int_t)11000000000, "type", "crash", "tgid", 7));
	open_record(f, record);
}

static void a_clock_that_is_set_moves_no_time(void **state)
{
	static const int64_t skews_us[] = { 0, 3600000000, -3600000000, 5000000, -5000000 };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(skews_us); i++) {
		struct mr_error err = MR_ERROR_INIT;
		mr_auto_facts struct mr_facts facts = { 0 };
		mr_auto_json json_t *unseen = NULL;
		struct fixture f = { 0 };

		open_with_skew(&f, skews_us[i]);
		assert_int_equal(mr_facts_load(f.store, f.head, &facts, &err), 0);

		const struct mr_fact *start = &facts.v[0], *end = &facts.v[facts.n - 1];

		assert_int_equal(start->kind, MR_FACT_run_start);
		assert_int_equal(end->kind, MR_FACT_run_end);
		assert_true(start->time_ns == 1795836000000000000 + skews_us[i] * 1000);
		assert_true(number_of(start, "start_ns") == start->time_ns);
		assert_true(find_fact(&facts, MR_FACT_crash)->time_ns - start->time_ns ==
			    1000000000);
		assert_true(end->time_ns - start->time_ns == 10000000000);
		assert_int_equal(mr_query_one(f.store, "run.unseen",
					      json_pack("{s:s}", "run_id", RUN_ID), &unseen, &err),
				 0);
		assert_true(json_integer_value(json_object_get(unseen, "begin_ns")) == 10000000000);
		close_fixture(&f);
	}
}

static void hostile_times_do_not_overflow(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_facts struct mr_facts facts = { 0 };
	struct fixture f = { 0 };

	(void)state;
	open_with(&f, json_pack("{s:[{s:I, s:s}], s:[{s:i, s:I, s:I}]}", "events", "boot_ns",
				(json_int_t)INT64_MIN, "type", "crash", "processes", "tgid", 1,
				"start_boot_ns", (json_int_t)INT64_MAX, "exit_boot_ns",
				(json_int_t)INT64_MIN));
	assert_int_equal(mr_facts_load(f.store, f.head, &facts, &err), 0);
	assert_true(find_fact(&facts, MR_FACT_crash)->time_ns == 1795836000000000000);
	assert_string_equal(text_of(find_fact(&facts, MR_FACT_crash), "time_is"), "run_end");
	assert_null(json_object_get(find_fact(&facts, MR_FACT_exit)->row, "exit_ns"));
	close_fixture(&f);
}

static void connections_stand_for_their_events(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_facts struct mr_facts facts = { 0 };
	struct fixture f = { 0 };
	size_t asked = 0;

	(void)state;
	open_with(&f, json_pack("{s:[{s:i, s:s, s:s, s:{}}, {s:i, s:s, s:s, s:{}}], s:[{s:i, s:s, "
				"s:s, s:i}]}",
				"events", "boot_ns", 5, "type", "connect", "object", "192.0.2.1:80",
				"detail", "boot_ns", 6, "type", "connect", "object", "192.0.2.1:81",
				"detail", "connections", "boot_ns", 5, "verdict", "denied",
				"remote", "192.0.2.1", "remote_port", 80));
	assert_int_equal(mr_facts_load(f.store, f.head, &facts, &err), 0);
	assert_string_equal(find_fact(&facts, MR_FACT_connection)->variant, "denied");
	for (size_t i = 0; i < facts.n; i++)
		asked += facts.v[i].kind == MR_FACT_connect;
	assert_int_equal(asked, 1); /* for the port that has no row */
	assert_int_equal(number_of(find_fact(&facts, MR_FACT_connect), "remote_port"), 81);
	close_fixture(&f);
}

static void a_run_that_is_gone_is_told(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_facts struct mr_facts facts = { 0 };
	struct fixture f = { 0 };

	(void)state;
	open_with(&f, json_object());
	json_object_set_new(f.head, "run_id", json_string("zz"));
	assert_int_equal(mr_facts_load(f.store, f.head, &facts, &err), 1);
	assert_int_equal(facts.n, 0);
	close_fixture(&f);
}

/* --- maps ------------------------------------------------------------------ */

static void maps_convert_and_leave_out(void **state)
{
	static const struct mr_map_word words[] = { { "b", 2 }, { NULL, 99 } };
	static const struct mr_map_row map[] = {
		MR_MAP_FIELD("plain", "text"),
		MR_MAP_FIELD("a.b.c", "number"),
		MR_MAP_FIELD_AS("a.text", "number", TEXT),
		MR_MAP_FIELD_AS("list[].ms", "number", MS),
		MR_MAP_CONST("list[].one", "number", "#1"),
		MR_MAP_CONST("list[].none", "absent", "#1"),
		MR_MAP_FIELD("none", "absent"),
		MR_MAP_FIELD("null", "null"),
		MR_MAP_FIELD_AS("wrong", "text", MS),
		MR_MAP_FIELD_AS("ip", "address", IP),
		MR_MAP_FIELD_AS("noip", "address", NO_IP),
		MR_MAP_FIELD_AS("base", "path", BASENAME),
		MR_MAP_FIELD_AS("folder", "folder", BASENAME),
		MR_MAP_WORDS("word", "text", words),
		MR_MAP_WORDS("other", "path", words),
		MR_MAP_FIELD_AS("iso", "@time_ns", ISO),
		MR_MAP_FIELD("uid", "@uid"),
		MR_MAP_FIELD_AS("us", "huge", US_AS_NS),
		MR_MAP_END,
	};
	mr_auto_json json_t *run = json_pack("{s:s}", "run_id", "r");
	mr_auto_json json_t *row =
		json_pack("{s:s, s:I, s:n, s:s, s:s, s:s, s:I}", "text", "b", "number",
			  (json_int_t)1999999, "null", "address", "::1", "path", "/a/b", "folder",
			  "/a/", "huge", (json_int_t)INT64_MAX);
	const struct mr_facts facts = { .run = run };
	const struct mr_fact fact = {
		.variant = "", .time_ns = 1795000000000000001, .n = 3, .row = row
	};
	mr_auto_json json_t *object = json_object();
	mr_auto_free char *text = NULL;

	(void)state;
	mr_map_nest(object, map, &facts, &fact);
	text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(
		text,
		"{\"a\":{\"b\":{\"c\":1999999},\"text\":\"1999999\"},\"base\":\"b\","
		"\"folder\":\"/a/\",\"ip\":\"::1\",\"iso\":\"2026-11-18T11:06:40.000000001Z\","
		"\"list\":[{\"ms\":1,\"one\":1}],\"other\":99,\"plain\":\"b\",\"uid\":\"r-3\","
		"\"word\":2}");
}

static void every_format_has_a_name_and_rights(void **state)
{
	size_t n = 0;

	(void)state;
	for (; mr_export_format_get(n); n++) {
		const struct mr_export_format *format = mr_export_format_get(n);
		bool open = strcmp(mr_export_format_name(format), "prometheus") == 0;

		assert_true(strlen(mr_export_format_help(format)) > 10);
		assert_int_equal(mr_export_format_mode(format), open ? 0644 : 0600);
	}
	assert_int_equal(n, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_style_escapes_its_own),
		cmocka_unit_test(what_acts_on_a_terminal_is_shown),
		cmocka_unit_test(no_bytes_break_out),
		cmocka_unit_test(a_megabyte_is_escaped_whole),
		cmocka_unit_test(times_are_made_of_both_clocks),
		cmocka_unit_test(a_clock_that_is_set_moves_no_time),
		cmocka_unit_test(hostile_times_do_not_overflow),
		cmocka_unit_test(connections_stand_for_their_events),
		cmocka_unit_test(a_run_that_is_gone_is_told),
		cmocka_unit_test(maps_convert_and_leave_out),
		cmocka_unit_test(every_format_has_a_name_and_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
