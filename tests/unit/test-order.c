/* SPDX-License-Identifier: Apache-2.0 */
/* What a prepared container is told to start, and whether it understands it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/backend/order.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

static char *words(const char *text)
{
	return (char *)(uintptr_t)text;
}

/* The order's texts as what reads them gets them: malloc'd, with a NUL behind. */
static char *texts_of(const char *order, size_t size, struct mr_order_head *head)
{
	char *text;

	assert_true(size > sizeof(*head));
	memcpy(head, order, sizeof(*head));
	assert_int_equal(head->size, size - sizeof(*head));
	text = mr_str_alloc((size_t)head->size + 1);
	memcpy(text, order + sizeof(*head), head->size);
	return text;
}

static void what_is_ordered_is_understood(void **state)
{
	char *argv[] = { words("sh"), words(""), words("a b"), NULL };
	char *envp[] = { words("A=b"), words("PATH=/x"), words("EMPTY="), NULL };
	char *own[] = { words("PATH=/usr"), words("HOME=/work"), words("A="), NULL };
	size_t size = 0;
	mr_auto_free char *order = mr_order_make("/work", argv, envp, &size), *text = NULL;
	mr_auto_free char **got_argv = NULL, **got_envp = NULL;
	struct mr_order_head head;
	const char *folder = NULL;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_non_null(order);
	text = texts_of(order, size, &head);
	assert_true(mr_order_head_is_good(&head));
	assert_int_equal(mr_order_parse(text, head.size, own, &folder, &got_argv, &got_envp, &err),
			 0);
	assert_string_equal(folder, "/work");
	for (size_t i = 0; argv[i]; i++)
		assert_string_equal(got_argv[i], argv[i]);
	assert_null(got_argv[3]);
	for (size_t i = 0; envp[i]; i++)
		assert_string_equal(got_envp[i], envp[i]);
	assert_string_equal(got_envp[3], "HOME=/work"); /* of its own what was not given */
	assert_null(got_envp[4]);
}

/* Every beginning of an order, and one with a byte changed, is refused or understood as something
 * whole; never read beyond. */
static void half_an_order_is_none(void **state)
{
	char *argv[] = { words("a"), words("b"), NULL };
	char *envp[] = { NULL };
	size_t size = 0;
	mr_auto_free char *order = mr_order_make("/", argv, envp, &size);
	struct mr_order_head head;
	mr_auto_free char *text = texts_of(order, size, &head);

	(void)state;
	for (size_t n = 0; n < head.size; n++) {
		mr_auto_free char *part = mr_str_alloc(n + 1);
		mr_auto_free char **got_argv = NULL, **got_envp = NULL;
		const char *folder = NULL;
		struct mr_error err = MR_ERROR_INIT;

		memcpy(part, text, n);
		assert_true(mr_order_parse(part, n, NULL, &folder, &got_argv, &got_envp, &err) < 0);
		assert_int_equal(err.code, MR_E_PROTO);
	}
}

static void numbers_of_arguments_are_not_believed(void **state)
{
	static const char *const numbers[] = { "0", "-1", "3", "99999999999999999999", "x", "" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
		char text[64];
		mr_auto_free char **got_argv = NULL, **got_envp = NULL;
		const char *folder = NULL;
		struct mr_error err = MR_ERROR_INIT;
		struct mr_str str;
		size_t n;

		mr_str_init(&str, text, sizeof(text));
		mr_str_printf(&str, "/|%s|a|b", numbers[i]);
		n = strlen(text) + 1;
		for (char *p = text; *p; p++)
			if (*p == '|')
				*p = '\0';
		assert_true(mr_order_parse(text, n, NULL, &folder, &got_argv, &got_envp, &err) < 0);
	}
}

static void other_heads_are_refused(void **state)
{
	char *argv[] = { words("a"), NULL };
	size_t size = 0;
	mr_auto_free char *order = mr_order_make("/", argv, NULL, &size);
	struct mr_order_head good, bad;

	(void)state;
	memcpy(&good, order, sizeof(good));
	assert_true(mr_order_head_is_good(&good));
	bad = good;
	bad.magic[6] = '2';
	assert_false(mr_order_head_is_good(&bad));
	bad = good;
	bad.size = 0;
	assert_false(mr_order_head_is_good(&bad));
	bad.size = MR_ORDER_MAX + 1;
	assert_false(mr_order_head_is_good(&bad));
	bad = good;
	bad.zero = 1;
	assert_false(mr_order_head_is_good(&bad));
}

static void a_question_is_no_order(void **state)
{
	char *argv[] = { words("a"), NULL };
	size_t size = 0, order_size = 0;
	mr_auto_free char *question = mr_order_ask(&size);
	mr_auto_free char *order = mr_order_make("/", argv, NULL, &order_size);
	struct mr_order_head head;

	(void)state;
	assert_int_equal(size, sizeof(head));
	memcpy(&head, question, sizeof(head));
	assert_true(mr_order_head_asks(&head));
	assert_false(mr_order_head_is_good(&head));
	head.zero = 1;
	assert_false(mr_order_head_asks(&head));
	memcpy(&head, order, sizeof(head));
	assert_false(mr_order_head_asks(&head));
}

static void what_is_too_long_is_not_ordered(void **state)
{
	mr_auto_free char *argument = mr_str_alloc(MR_ORDER_MAX + 1);
	char *argv[] = { argument, NULL };
	size_t size = 0;

	(void)state;
	memset(argument, 'a', MR_ORDER_MAX);
	assert_null(mr_order_make("/", argv, NULL, &size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_ordered_is_understood),
		cmocka_unit_test(half_an_order_is_none),
		cmocka_unit_test(numbers_of_arguments_are_not_believed),
		cmocka_unit_test(other_heads_are_refused),
		cmocka_unit_test(a_question_is_no_order),
		cmocka_unit_test(what_is_too_long_is_not_ordered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
