/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture: what is kept of a stream, and how it is shown
 *
 * The reference is the obvious model: keep everything, cut at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/json.h"
#include "runtime/supervise/capture.h"

/* Feed the bytes in chunks and return the canonical JSON text; malloc'd. */
static char *capture_text(size_t head, size_t tail, const char *buf, size_t size, size_t chunk)
{
	struct mr_capture cap;
	mr_auto_json json_t *json = NULL;
	char *text;

	mr_capture_init(&cap, head, tail);
	for (size_t at = 0; at < size; at += chunk)
		mr_capture_add(&cap, buf + at, size - at < chunk ? size - at : chunk);
	json = mr_capture_to_json(&cap);
	assert_non_null(json);
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	mr_capture_deinit(&cap);
	return text;
}

static void expect(size_t head, size_t tail, const char *buf, size_t size, const char *want)
{
	for (size_t chunk = 1; chunk <= size + 1; chunk++) {
		char *text = capture_text(head, tail, buf, size, chunk);

		assert_string_equal(text, want);
		free(text);
	}
}

static void an_empty_stream_is_empty_text(void **state)
{
	(void)state;
	expect(8, 8, "", 0,
	       "{\"bytes\":0,\"encoding\":\"utf-8\",\"omitted_bytes\":0,\"text\":\"\","
	       "\"truncated\":false}");
}

static void cuts_just_over_the_bound(void **state)
{
	(void)state;
	expect(3, 4, "abcdef", 6,
	       "{\"bytes\":6,\"encoding\":\"utf-8\",\"omitted_bytes\":0,\"text\":\"abcdef\","
	       "\"truncated\":false}");
	expect(3, 4, "abcdefg", 7,
	       "{\"bytes\":7,\"encoding\":\"utf-8\",\"omitted_bytes\":0,\"text\":\"abcdefg\","
	       "\"truncated\":false}");
	expect(3, 4, "abcdefgh", 8,
	       "{\"bytes\":8,\"encoding\":\"utf-8\",\"head\":\"abc\",\"omitted_bytes\":1,"
	       "\"tail\":\"efgh\",\"truncated\":true}");
	expect(3, 4, "abcdefghijklmnopqrstuvwxyz", 26,
	       "{\"bytes\":26,\"encoding\":\"utf-8\",\"head\":\"abc\",\"omitted_bytes\":19,"
	       "\"tail\":\"wxyz\",\"truncated\":true}");
}

static void either_part_may_be_nothing(void **state)
{
	(void)state;
	expect(0, 0, "abc", 3,
	       "{\"bytes\":3,\"encoding\":\"utf-8\",\"head\":\"\",\"omitted_bytes\":3,"
	       "\"tail\":\"\",\"truncated\":true}");
	expect(2, 0, "abc", 3,
	       "{\"bytes\":3,\"encoding\":\"utf-8\",\"head\":\"ab\",\"omitted_bytes\":1,"
	       "\"tail\":\"\",\"truncated\":true}");
	expect(0, 2, "abc", 3,
	       "{\"bytes\":3,\"encoding\":\"utf-8\",\"head\":\"\",\"omitted_bytes\":1,"
	       "\"tail\":\"bc\",\"truncated\":true}");
}

static void bytes_that_are_not_text_are_base64(void **state)
{
	(void)state;
	/* NUL */
	expect(8, 8, "a\0b", 3,
	       "{\"base64\":\"YQBi\",\"bytes\":3,\"encoding\":\"base64\",\"omitted_bytes\":0,"
	       "\"truncated\":false}");
	/* a lone surrogate, U+D800 */
	expect(8, 8, "\xed\xa0\x80", 3,
	       "{\"base64\":\"7aCA\",\"bytes\":3,\"encoding\":\"base64\",\"omitted_bytes\":0,"
	       "\"truncated\":false}");
	/* overlong '/', and a bare byte */
	expect(8, 8, "\xc0\xaf", 2,
	       "{\"base64\":\"wK8=\",\"bytes\":2,\"encoding\":\"base64\",\"omitted_bytes\":0,"
	       "\"truncated\":false}");
	expect(8, 8, "\xff", 1,
	       "{\"base64\":\"/w==\",\"bytes\":1,\"encoding\":\"base64\",\"omitted_bytes\":0,"
	       "\"truncated\":false}");
	/* whole and ending within a character: not ours to trim */
	expect(8, 8, "a\xc3", 2,
	       "{\"base64\":\"YcM=\",\"bytes\":2,\"encoding\":\"base64\",\"omitted_bytes\":0,"
	       "\"truncated\":false}");
	/* truncated binary */
	expect(2, 2, "\xff\xfe-\xfd\xfc", 5,
	       "{\"bytes\":5,\"encoding\":\"base64\",\"head\":\"//4=\",\"omitted_bytes\":1,"
	       "\"tail\":\"/fw=\",\"truncated\":true}");
}

static void escapes_and_control_bytes_stay_text(void **state)
{
	(void)state;
	expect(32, 8, "\x1b[2J\"\\\r\n\x7f", 9,
	       "{\"bytes\":9,\"encoding\":\"utf-8\",\"omitted_bytes\":0,"
	       "\"text\":\"\\u001B[2J\\\"\\\\\\r\\n\x7f\",\"truncated\":false}");
}

static void a_character_across_the_cut_is_omitted(void **state)
{
	(void)state;
	/* "aé|€|bü": the head ends within €, the tail begins within ü's predecessor */
	expect(4, 3, "a\xc3\xa9\xe2\x82\xac-\xe2\x82\xac!", 11,
	       "{\"bytes\":11,\"encoding\":\"utf-8\",\"head\":\"a\xc3\xa9\",\"omitted_bytes\":7,"
	       "\"tail\":\"!\",\"truncated\":true}");
	/* four-byte characters cut after 1, 2, 3 bytes at both ends */
	expect(1, 1, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 8,
	       "{\"bytes\":8,\"encoding\":\"utf-8\",\"head\":\"\",\"omitted_bytes\":8,"
	       "\"tail\":\"\",\"truncated\":true}");
	expect(3, 3, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 8,
	       "{\"bytes\":8,\"encoding\":\"utf-8\",\"head\":\"\",\"omitted_bytes\":8,"
	       "\"tail\":\"\",\"truncated\":true}");
	/* whole characters at the cut stay */
	expect(4, 4, "\xf0\x9f\x98\x80-\xf0\x9f\x98\x80", 9,
	       "{\"bytes\":9,\"encoding\":\"utf-8\",\"head\":\"\xf0\x9f\x98\x80\","
	       "\"omitted_bytes\":1,\"tail\":\"\xf0\x9f\x98\x80\",\"truncated\":true}");
	/* more continuation bytes than one character has is not a cut character */
	expect(1, 4, "a-\x80\x80\x80\x80", 6,
	       "{\"bytes\":6,\"encoding\":\"base64\",\"head\":\"YQ==\",\"omitted_bytes\":1,"
	       "\"tail\":\"gICAgA==\",\"truncated\":true}");
}

/* Untruncated text whose character lies across the seam of head and tail is whole. */
static void the_seam_is_not_a_cut(void **state)
{
	(void)state;
	expect(2, 8, "a\xe2\x82\xac!", 5,
	       "{\"bytes\":5,\"encoding\":\"utf-8\",\"omitted_bytes\":0,"
	       "\"text\":\"a\xe2\x82\xac!\",\"truncated\":false}");
}

static size_t allocated(const struct mr_capture *cap)
{
	return cap->head.cap + cap->tail.cap;
}

static void memory_follows_what_arrives(void **state)
{
	struct mr_capture cap;
	char block[4096];

	(void)state;
	memset(block, 'x', sizeof(block));
	mr_capture_init(&cap, 65536, 65536);
	assert_int_equal(allocated(&cap), 0);
	mr_capture_add(&cap, "0123456789", 10);
	assert_true(allocated(&cap) <= 256);
	for (int i = 0; i < 1000; i++)
		mr_capture_add(&cap, block, sizeof(block));
	assert_int_equal(allocated(&cap), 131072);
	assert_int_equal(mr_capture_total(&cap), 10 + 4096000);
	assert_true(mr_capture_truncated(&cap));
	mr_capture_deinit(&cap);

	/* bounds below the first allocation are kept to as well */
	mr_capture_init(&cap, 10, 20);
	mr_capture_add(&cap, block, sizeof(block));
	assert_int_equal(allocated(&cap), 30);
	mr_capture_deinit(&cap);
}

static void a_bound_beyond_memory_costs_nothing(void **state)
{
	struct mr_capture cap;

	(void)state;
	mr_capture_init(&cap, SIZE_MAX, SIZE_MAX);
	mr_capture_add(&cap, "abc", 3);
	assert_true(allocated(&cap) <= 256);
	assert_false(mr_capture_truncated(&cap));
	mr_capture_deinit(&cap);
}

/* Random chunks against the model, over rings that wrap in every position. */
static void agrees_with_the_model(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 400; round++) {
		size_t head = (size_t)rand_r(&seed) % 300, tail = (size_t)rand_r(&seed) % 600;
		size_t size = (size_t)rand_r(&seed) % 2000, at = 0;
		char *all = malloc(size + 1), want[1024];
		struct mr_capture cap;
		mr_auto_json json_t *json = NULL;

		for (size_t i = 0; i < size; i++)
			all[i] = (char)('a' + rand_r(&seed) % 26);
		mr_capture_init(&cap, head, tail);
		while (at < size) {
			size_t n = (size_t)rand_r(&seed) % 700;

			n = n > size - at ? size - at : n;
			mr_capture_add(&cap, all + at, n);
			at += n;
		}
		json = mr_capture_to_json(&cap);
		if (size > head + tail) {
			memcpy(want, all + size - tail, tail);
			want[tail] = '\0';
			assert_string_equal(json_string_value(json_object_get(json, "tail")), want);
			memcpy(want, all, head);
			want[head] = '\0';
			assert_string_equal(json_string_value(json_object_get(json, "head")), want);
			assert_int_equal(json_integer_value(json_object_get(json, "omitted_bytes")),
					 size - head - tail);
		} else {
			all[size] = '\0';
			assert_string_equal(json_string_value(json_object_get(json, "text")), all);
		}
		mr_capture_deinit(&cap);
		free(all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_stream_is_empty_text),
		cmocka_unit_test(cuts_just_over_the_bound),
		cmocka_unit_test(either_part_may_be_nothing),
		cmocka_unit_test(bytes_that_are_not_text_are_base64),
		cmocka_unit_test(escapes_and_control_bytes_stay_text),
		cmocka_unit_test(a_character_across_the_cut_is_omitted),
		cmocka_unit_test(the_seam_is_not_a_cut),
		cmocka_unit_test(memory_follows_what_arrives),
		cmocka_unit_test(a_bound_beyond_memory_costs_nothing),
		cmocka_unit_test(agrees_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
