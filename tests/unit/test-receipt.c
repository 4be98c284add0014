/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receipt: its order, and its list of what is not enforced: each reason once, and room for every item
 */
#include <errno.h>
#include <limits.h>
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
#include "runtime/supervise/receipt.h"

static const char *const items[] = {
#define ITEM(name, help) name,
#include "runtime/spec/best_effort.def"
#undef ITEM
	"network-record",
};

static struct mr_receipt *receipt;

static int set_up(void **state)
{
	(void)state;
	receipt = calloc(1, sizeof(*receipt));
	return receipt ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(receipt);
	return 0;
}

static size_t count(const char *item)
{
	size_t n = 0;

	for (size_t i = 0; i < receipt->n_degraded; i++)
		n += strcmp(receipt->degraded[i].item, item) == 0;
	return n;
}

static void test_a_reason_is_told_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < 1000; i++)
		mr_receipt_degrade(receipt, "net", "no room for %s", "another");
	assert_int_equal(receipt->n_degraded, 1);
	assert_string_equal(receipt->degraded[0].item, "net");
	assert_string_equal(receipt->degraded[0].why, "no room for another");
	/* The same words of another item are another reason. */
	mr_receipt_degrade(receipt, "cgroup", "no room for another");
	assert_int_equal(receipt->n_degraded, 2);
}

static void test_what_is_too_long_is_one_reason_too(void **state)
{
	char text[2 * sizeof(receipt->degraded[0].why)];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	mr_receipt_degrade(receipt, "net", "%s", text);
	mr_receipt_degrade(receipt, "net", "%s", text);
	assert_int_equal(receipt->n_degraded, 1);
	assert_int_equal(strlen(receipt->degraded[0].why), sizeof(receipt->degraded[0].why) - 1);
}

static void test_reasons_without_end_are_told_as_such(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 1000; i++)
		mr_receipt_degrade(receipt, "net", "reason %u", i);
	assert_int_equal(receipt->n_degraded, MR_RECEIPT_REASONS);
	assert_string_equal(receipt->degraded[0].why, "reason 0");
	assert_string_equal(receipt->degraded[MR_RECEIPT_REASONS - 2].why, "reason 2");
	assert_string_equal(receipt->degraded[MR_RECEIPT_REASONS - 1].why, MR_RECEIPT_MORE);
}

static void test_no_item_takes_room_from_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(items); i++)
		for (unsigned int j = 0; j < 100; j++)
			mr_receipt_degrade(receipt, items[i], "reason %u", j);
	for (size_t i = 0; i < N_ELEMENTS(items); i++)
		assert_int_equal(count(items[i]), MR_RECEIPT_REASONS);
	assert_true(receipt->n_degraded <= MR_RECEIPT_MAX_DEGRADED);
}

#define OURS "93 68 0:43 / / ro,nosuid,nodev,relatime - tmpfs none rw,size=65536k\n"
#define USR "96 93 0:44 / /usr ro,nosuid,nodev,relatime - overlay menace ro\n"
#define HOST "69 93 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"

static void the_hosts_tree_is_a_second_root(void **state)
{
	(void)state;
	assert_int_equal(mr_receipt_count_roots(OURS USR), 1);
	assert_int_equal(mr_receipt_count_roots(HOST OURS USR), 2);
	assert_int_equal(mr_receipt_count_roots(OURS USR HOST), 2);
	assert_int_equal(mr_receipt_count_roots(""), 0);
	assert_int_equal(mr_receipt_count_roots(USR), 0);
	assert_int_equal(mr_receipt_count_roots("/ / / \n\n93 68 0:43 /"), 0);
}

static void test_nothing_is_complete_before_the_sandbox_is(void **state)
{
	const struct mr_receipt_input in = { .payload_pid = getpid() };
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_receipt_complete(receipt, &in, &err), -EPROTO);
	assert_string_equal(err.msg, "verify: the payload is there before its sandbox");
	assert_false(receipt->complete);
}

/* Init is still in ours when it begins, and may be gone, for a reason of its own, before it is seen
 * in another. */
static void test_a_network_that_is_joined_is_not_ours(void **state)
{
	struct mr_launched launched = { .init_pid = getpid(),
					.namespaces = 1U << MR_NS_NET,
					.policy = { .level = 3 } };
	struct mr_spec spec;
	struct mr_receipt_input in = { .spec = &spec, .launched = &launched };
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	mr_spec_init(&spec);
	mr_receipt_begin(receipt, &launched);
	assert_int_not_equal(receipt->ns_inode[MR_NS_NET], 0);
	assert_int_equal(mr_receipt_built(receipt, &in, &err), -EPERM);
	assert_string_equal(err.msg, "verify: the payload is in our own net namespace");

	launched.takes_netns = true;
	receipt->ns_inode[MR_NS_NET] = 0;
	mr_receipt_begin(receipt, &launched);
	assert_int_equal(receipt->ns_inode[MR_NS_NET], 0);
	launched.init_pid = INT_MAX; /* nobody */
	assert_int_equal(mr_receipt_built(receipt, &in, &err), 0);
	in.payload_pid = getpid();
	assert_true(mr_receipt_complete(receipt, &in, &err) < 0);
	assert_false(receipt->complete);
	mr_spec_deinit(&spec);
}

static void test_what_the_start_did_without_is_told(void **state)
{
	struct mr_launched launched = { .init_pid = getpid() };

	(void)state;
	mr_receipt_begin(receipt, &launched);
	assert_int_equal(receipt->n_degraded, 0);
	launched.no_time_ns = true;
	snprintf(launched.no_idmap, sizeof(launched.no_idmap), "/w: cannot");
	mr_receipt_begin(receipt, &launched);
	assert_int_equal(receipt->n_degraded, 2);
	assert_string_equal(receipt->degraded[0].item, "time-ns");
	assert_string_equal(receipt->degraded[0].why, "this kernel has no time namespaces");
	assert_string_equal(receipt->degraded[1].item, "workspace-idmap");
	assert_string_equal(receipt->degraded[1].why, "/w: cannot");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_is_complete_before_the_sandbox_is),
		TEST(test_a_network_that_is_joined_is_not_ours),
		TEST(test_what_the_start_did_without_is_told),
		cmocka_unit_test(the_hosts_tree_is_a_second_root),
		TEST(test_a_reason_is_told_once),
		TEST(test_what_is_too_long_is_one_reason_too),
		TEST(test_reasons_without_end_are_told_as_such),
		TEST(test_no_item_takes_room_from_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
