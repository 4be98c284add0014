/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics from text: both hierarchies' tables, and what a hostile, cut-off or
 * absent file becomes (unknown, never a number that nobody wrote).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroups/hierarchy.h"
#include "cgroups/stats.h"
#include "cgroups/tree.h"
#include "runtime/base/cleanup.h"

#define assert_unknown(v) assert_true((v) == MR_STAT_UNKNOWN)

static void feed(const struct mr_hierarchy_ops *ops, const char *file, const char *text,
		 struct mr_cgroup_stats *stats)
{
	for (size_t i = 0; i < ops->n_stats; i++)
		if (strcmp(ops->stats[i].file, file) == 0) {
			mr_stats_parse(&ops->stats[i], text, stats);
			return;
		}
	fail_msg("no row for %s", file);
}

static void all_begin_unknown(void **state)
{
	struct mr_cgroup_stats s;

	(void)state;
	mr_stats_init(&s);
	assert_unknown(s.cpu_usage_us);
	assert_unknown(s.psi_io_full_us);
	assert_unknown(s.io_write_ops);
	assert_null(s.memory_peak_source);
}

static void v2_files(void **state)
{
	struct mr_cgroup_stats s;

	(void)state;
	mr_stats_init(&s);
	feed(&mr_v2_ops, "cpu.stat",
	     "usage_usec 300\nuser_usec 200\nsystem_usec 100\nnice_usec 9\nnr_periods 4\n"
	     "nr_throttled 3\nthrottled_usec 77\nnr_bursts 0\n",
	     &s);
	feed(&mr_v2_ops, "memory.peak", "8192\n", &s);
	feed(&mr_v2_ops, "memory.current", "0\n", &s);
	feed(&mr_v2_ops, "memory.events",
	     "low 0\nhigh 0\nmax 12\noom 2\noom_kill 3\noom_group_kill 1\n", &s);
	feed(&mr_v2_ops, "memory.stat", "anon 1\npgfault 55\npgmajfault 6\n", &s);
	feed(&mr_v2_ops, "pids.events", "max 21\n", &s);
	feed(&mr_v2_ops, "io.stat",
	     "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n"
	     "253:1 rbytes=10 wbytes=20 rios=30 wios=40 dbytes=0 dios=0\n",
	     &s);
	feed(&mr_v2_ops, "memory.pressure",
	     "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n"
	     "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
	     &s);
	assert_int_equal(s.cpu_usage_us, 300);
	assert_int_equal(s.cpu_user_us, 200);
	assert_int_equal(s.cpu_system_us, 100);
	assert_int_equal(s.cpu_nr_throttled, 3);
	assert_int_equal(s.cpu_throttled_us, 77);
	assert_int_equal(s.memory_peak_bytes, 8192);
	assert_string_equal(s.memory_peak_source, "memory.peak");
	assert_int_equal(s.memory_current_bytes, 0);
	assert_int_equal(s.memory_max_events, 12);
	assert_int_equal(s.oom_events, 2);
	assert_int_equal(s.oom_kills, 3);
	assert_int_equal(s.oom_group_kills, 1);
	assert_int_equal(s.pgfault, 55);
	assert_int_equal(s.pgmajfault, 6);
	assert_int_equal(s.pids_max_events, 21);
	assert_int_equal(s.io_read_bytes, 11);
	assert_int_equal(s.io_write_bytes, 22);
	assert_int_equal(s.io_read_ops, 33);
	assert_int_equal(s.io_write_ops, 44);
	assert_int_equal(s.psi_memory_some_us, 11);
	assert_int_equal(s.psi_memory_full_us, 7);
	assert_unknown(s.psi_cpu_some_us);
}

static void v1_files(void **state)
{
	struct mr_cgroup_stats s;

	(void)state;
	mr_stats_init(&s);
	feed(&mr_v1_ops, "cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 5999\n", &s);
	feed(&mr_v1_ops, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", &s);
	feed(&mr_v1_ops, "memory.failcnt", "4\n", &s);
	feed(&mr_v1_ops, "memory.memsw.failcnt", "6\n", &s);
	feed(&mr_v1_ops, "memory.max_usage_in_bytes", "4096\n", &s);
	feed(&mr_v1_ops, "memory.stat", "pgfault 1\ntotal_pgfault 3\ntotal_pgmajfault 0\n", &s);
	assert_int_equal(s.cpu_nr_throttled, 3);
	assert_int_equal(s.cpu_throttled_us, 5);
	assert_int_equal(s.oom_kills, 2);
	assert_unknown(s.oom_events);
	assert_int_equal(s.memory_max_events, 10);
	assert_string_equal(s.memory_peak_source, "memory.max_usage_in_bytes");
	assert_int_equal(s.pgfault, 3);
	assert_int_equal(s.pgmajfault, 0);
}

static void bad_text_is_unknown(void **state)
{
	static const struct {
		const char *file, *text;
	} rows[] = {
		{ "memory.peak", "" },
		{ "memory.peak", "4096" }, /* cut off: the next byte may be a digit */
		{ "memory.peak", "max\n" },
		{ "memory.peak", "-1\n" },
		{ "memory.peak", " 4096\n" },
		{ "memory.peak", "18446744073709551616\n" },
		{ "memory.peak", "4096x\n" },
		{ "memory.peak", "\n4096\n" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_cgroup_stats s;

		mr_stats_init(&s);
		feed(&mr_v2_ops, rows[i].file, rows[i].text, &s);
		assert_unknown(s.memory_peak_bytes);
		assert_null(s.memory_peak_source);
	}
}

static void keys_match_whole_words_of_whole_lines(void **state)
{
	(void)state;
	assert_int_equal(mr_stats_keyed("xoom 1\noom_kill 2\noom 3\n", "oom"), 3);
	assert_unknown(mr_stats_keyed("oom_kill 2\n", "oom"));
	assert_unknown(mr_stats_keyed("oom\n", "oom"));
	assert_unknown(mr_stats_keyed("oom  3\n", "oom"));
	assert_unknown(mr_stats_keyed("oom 3", "oom"));
	assert_unknown(mr_stats_keyed("", "oom"));
	assert_int_equal(mr_stats_keyed("populated 0\nfrozen 1\n", "frozen"), 1);
}

static void io_stays_within_its_line_and_saturates(void **state)
{
	struct mr_cgroup_stats s;

	(void)state;
	mr_stats_init(&s);
	feed(&mr_v2_ops, "io.stat", "8:0 xrbytes=1\n8:1 \n rbytes=5\n", &s);
	assert_int_equal(s.io_read_bytes, 5);
	assert_unknown(s.io_write_bytes);
	feed(&mr_v2_ops, "io.stat", "8:0 rbytes=18446744073709551614\n", &s);
	assert_true(s.io_read_bytes == MR_STAT_UNKNOWN - 1);
}

static void pids_come_whole_from_any_pieces(void **state)
{
	static const char text[] = "1\n22\n333\n99999999999999999999\n4194304\n";
	const size_t size = sizeof(text) - 1;

	(void)state;
	for (size_t cut = 0; cut <= size; cut++) {
		struct mr_tree_scan scan = { 0 };
		pid_t pids[3] = { 0 };

		if (cut > 0)
			mr_tree_scan(&scan, text, cut, pids, 3);
		if (cut < size)
			mr_tree_scan(&scan, text + cut, size - cut, pids, 3);
		mr_tree_scan(&scan, NULL, 0, pids, 3);
		assert_int_equal(scan.count, 4); /* the absurd one is nobody's pid */
		assert_int_equal(pids[0], 1);
		assert_int_equal(pids[1], 22);
		assert_int_equal(pids[2], 333);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_begin_unknown),
		cmocka_unit_test(v2_files),
		cmocka_unit_test(v1_files),
		cmocka_unit_test(bad_text_is_unknown),
		cmocka_unit_test(keys_match_whole_words_of_whole_lines),
		cmocka_unit_test(io_stays_within_its_line_and_saturates),
		cmocka_unit_test(pids_come_whole_from_any_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
