/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outages: what is read, what it is printed as, what is refused, which questions they take
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "netns/netd_faults.h"
#include "netns/outage.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

#define FORMS "; accepted: KIND[:HOST,...]@FROM..[TO]"
#define KINDS                                                                           \
	" is no kind of fault; accepted: blackhole, partition, refuse, dns_failure (a " \
	"delay, a rate and losses of the whole run: net.latency_ms and the like)"
#define NEVER ": TO is not after FROM, so it would never be in force" FORMS
#define NAMES ": dns_failure is of names: NAME, *.DOMAIN or *, without a port" FORMS
#define RULE                                                                            \
	"; accepted: HOST[:PORT] with a.b.c.d, a.b.c.d/N, [IPv6], [IPv6/N], a name or " \
	"*.domain"
#define MS 1000000ULL

static struct mr_outage outage(const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_outage ret;

	if (mr_outage_parse(text, &ret, &err) < 0)
		fail_msg("%s", err.msg);
	return ret;
}

static void test_what_is_read_is_printed_in_one_way(void **state)
{
	static const char *const rows[][2] = {
		{ "blackhole@0..", "blackhole@0ms.." },
		{ "partition@0..1", "partition@0ms..1ms" },
		{ "refuse@1.5s..2000", "refuse@1500ms..2s" },
		{ "dns_failure@0..365d", "dns_failure@0ms..365d" },
		{ "blackhole:*@0..", "blackhole:*@0ms.." },
		{ "blackhole:*:65535@0..", "blackhole:*:65535@0ms.." },
		{ "refuse:1.2.3.4,10.0.0.0/8:1@0..", "refuse:1.2.3.4,10.0.0.0/8:1@0ms.." },
		{ "refuse:127.0.0.1,::1@0..", "refuse:127.0.0.1,[::1]@0ms.." },
		{ "refuse:[2001:DB8::/32]:80@0..", "refuse:[2001:db8::/32]:80@0ms.." },
		{ "dns_failure:*.A.Example.,b@0..", "dns_failure:*.a.example,b@0ms.." },
		{ "dns_failure:*@60s..", "dns_failure:*@1m.." },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_outage o = outage(rows[i][0]), again;
		mr_auto_free char *text = mr_outage_print(&o), *second = NULL;

		assert_string_equal(text, rows[i][1]);
		again = outage(text);
		second = mr_outage_print(&again);
		assert_string_equal(second, text);
	}
}

static void test_what_is_no_fault_is_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "", "\"\": \"@\" is missing" FORMS },
		{ "blackhole", "\"blackhole\": \"@\" is missing" FORMS },
		{ "@0..", "\"\"" KINDS },
		{ "latency@0..1s", "\"latency\"" KINDS },
		{ "Blackhole@0..", "\"Blackhole\"" KINDS },
		{ " refuse@0..", "\" refuse\"" KINDS },
		{ "refuse@0..@1..", "\"refuse@0..\"" KINDS },
		{ "blackhole@", "\"\": \"..\" is missing" FORMS },
		{ "blackhole@1s", "\"1s\": \"..\" is missing" FORMS },
		{ "blackhole@1s.", "\"1s.\": \"..\" is missing" FORMS },
		{ "blackhole@..1s", "\"..1s\": FROM is missing" FORMS },
		{ "blackhole@..", "\"..\": FROM is missing" FORMS },
		{ "blackhole@0..0", "\"0..0\"" NEVER },
		{ "blackhole@2s..1s", "\"2s..1s\"" NEVER },
		{ "blackhole@1s..1000ms", "\"1s..1000ms\"" NEVER },
		{ "blackhole@0..366d", "\"366d\" is out of range; accepted: 0 to 365 days" },
		{ "blackhole@31536000001..", "\"31536000001\" is out of range; accepted: 0 to 365 "
					     "days" },
		{ "blackhole:@0..", "\"\": the host is empty" RULE },
		{ "blackhole:a.example,@0..", "\"\": the host is empty" RULE },
		{ "blackhole:1.2.3.4/33@0..",
		  "\"1.2.3.4/33\": the prefix length is not one of 0 to "
		  "32" RULE },
		{ "blackhole:1.2.3.4:0@0..",
		  "\"1.2.3.4:0\": the port is not one of 1 to 65535" RULE },
		{ "blackhole:*:65536@0..", "\"*:65536\": the port is not one of 1 to 65535" FORMS },
		{ "blackhole:*:@0..", "\"*:\": the port is not one of 1 to 65535" FORMS },
		{ "blackhole:**@0..",
		  "\"**\": this is neither an address nor the name of a host" RULE },
		{ "refuse:localhost@0..",
		  "\"localhost\": loopback is the sandbox's own and leads nowhere else" RULE },
		{ "dns_failure:1.2.3.4@0..", "\"1.2.3.4\"" NAMES },
		{ "dns_failure:a.example:53@0..", "\"a.example:53\"" NAMES },
		{ "dns_failure:*:53@0..", "\"*:53\"" NAMES },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;
		struct mr_outage o;

		assert_int_not_equal(mr_outage_parse(rows[i][0], &o, &err), 0);
		assert_int_equal(err.code, MR_E_USAGE);
		assert_string_equal(err.msg, rows[i][1]);
	}
}

static void test_times_that_are_none_are_refused(void **state)
{
	static const char *const rows[] = {
		"blackhole@-1s..2s",  "blackhole@0..1s..2s",
		"blackhole@0...1",    "blackhole@0..1x",
		"blackhole@0..1e3",   "blackhole@nan..1",
		"blackhole@0x1..",    "blackhole@99999999999999999999w..",
		"blackhole@0..\n1 1", "blackhole@unlimited..",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;
		struct mr_outage o;

		if (mr_outage_parse(rows[i], &o, &err) == 0)
			fail_msg("%s", rows[i]);
		assert_int_equal(err.code, MR_E_USAGE);
	}
}

static void test_hosts_are_bounded(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_outage o;

	(void)state;
	o = outage("refuse:1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
		   "1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1@0..");
	assert_int_equal(o.n_hosts, 16);
	assert_int_not_equal(mr_outage_parse("refuse:a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a@0..", &o,
					     &err),
			     0);
	assert_string_equal(err.msg, "too many hosts of one fault; accepted: at most 16");
}

static void test_questions_are_taken_in_time(void **state)
{
	const struct mr_outage outages[] = {
		outage("blackhole:a.example@0.."),
		outage("dns_failure:a.example@10..20"),
		outage("dns_failure@15..30"),
	};
	static const struct {
		uint64_t ns;
		bool taken;
	} rows[] = {
		{ 0, false },	   { 10 * MS - 1, false }, { 10 * MS, true },  { 19 * MS, true },
		{ 20 * MS, true }, { 30 * MS - 1, true },  { 30 * MS, false }, { 90 * MS, false },
	};
	struct mr_drop_met met[N_ELEMENTS(outages)] = { { 0 } };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_int_equal(mr_outages_take_name(outages, N_ELEMENTS(outages), "a.example",
						      rows[i].ns, met),
				 rows[i].taken);
	assert_int_equal(met[0].before + met[0].within + met[0].after + met[0].taken, 0);
	assert_memory_equal(&met[1],
			    &((struct mr_drop_met){ .before = 2,
						    .within = 2,
						    .after = 4,
						    .taken = 2,
						    .last_before_ns = 10 * MS - 1,
						    .first_taken_ns = 10 * MS,
						    .last_taken_ns = 19 * MS,
						    .first_after_ns = 20 * MS }),
			    sizeof(met[1]));
	/* Of two in force the first takes it; the second was there. */
	assert_memory_equal(&met[2],
			    &((struct mr_drop_met){ .before = 3,
						    .within = 3,
						    .after = 2,
						    .taken = 2,
						    .last_before_ns = 10 * MS,
						    .first_taken_ns = 20 * MS,
						    .last_taken_ns = 30 * MS - 1,
						    .first_after_ns = 30 * MS }),
			    sizeof(met[2]));
	assert_false(mr_outages_take_name(outages, 2, "b.example", 15 * MS, met));
}

static void test_a_helper_has_them_as_they_were_handed_over(void **state)
{
	static const char texts[] = "dns_failure:*.a.example@0..1s\0refuse:b.example@5s..";
	struct mr_netd_faults faults = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_netd_met met;
	size_t told = 0;

	(void)state;
	assert_int_not_equal(mr_netd_faults_add_all(&faults, texts, sizeof(texts) - 1, &err), 0);
	assert_string_equal(err.msg, "the faults are cut off");
	mr_netd_faults_deinit(&faults);
	assert_int_equal(mr_netd_faults_add_all(&faults, texts, sizeof(texts), &err), 0);
	assert_true(faults.by_name);
	/* It has not begun: the first instant. */
	assert_true(mr_netd_faults_take(&faults, "x.a.example"));
	assert_false(mr_netd_faults_take(&faults, "a.example"));
	assert_true(mr_netd_faults_tell(&faults, &told, &met));
	assert_int_equal(met.n, 2);
	assert_int_equal(met.windows[0].to_ms, 1000);
	assert_int_equal(met.windows[0].met.taken, 1);
	assert_int_equal(met.windows[1].from_ms, 5000);
	assert_true(met.windows[1].to_ms == MR_OUTAGE_NO_END);
	assert_false(mr_netd_faults_tell(&faults, &told, &met));
	while (faults.n < MR_OUTAGES_MAX)
		assert_int_equal(mr_netd_faults_add(&faults, "refuse@0..", &err), 0);
	assert_int_not_equal(mr_netd_faults_add(&faults, "refuse@0..", &err), 0);
	for (told = 0; mr_netd_faults_tell(&faults, &told, &met);)
		assert_true(met.n <= MR_NETD_MET_MAX);
	assert_int_equal(told, MR_OUTAGES_MAX);
	mr_netd_faults_deinit(&faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_read_is_printed_in_one_way),
		cmocka_unit_test(test_what_is_no_fault_is_refused),
		cmocka_unit_test(test_times_that_are_none_are_refused),
		cmocka_unit_test(test_hosts_are_bounded),
		cmocka_unit_test(test_questions_are_taken_in_time),
		cmocka_unit_test(test_a_helper_has_them_as_they_were_handed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
