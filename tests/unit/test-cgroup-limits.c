/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits against a temporary folder in place of a cgroup: what is written, what
 * is read back, and what is refused before anything is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cgroups/hierarchy.h"
#include "cgroups/limits.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "tests/lib/temptree.h"

#define ALL ((1U << MR_CONTROLLER_COUNT_) - 1)
#define NO_LIMITS                                                                \
	{                                                                        \
		MR_UNLIMITED, MR_UNLIMITED, MR_UNLIMITED, MR_UNLIMITED, 0, false \
	}

/* A file of the folder and what is in it; a list ends with an empty row. */
struct file {
	const char *name, *text;
};
#define FILES(...)                 \
	(const struct file[])      \
	{                          \
		__VA_ARGS__,       \
		{                  \
			NULL, NULL \
		}                  \
	}

static int setup(void **state)
{
	static struct temptree f;

	temptree_make(&f);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	temptree_remove(*state);
	return 0;
}

static void put(const struct temptree *f, const struct file *files)
{
	for (; files->name; files++)
		temptree_file(f->fd, files->name, files->text);
}

static void assert_files(const struct temptree *f, const struct file *files)
{
	for (; files->name; files++) {
		char buf[128];

		assert_true(mr_read_file_at(f->fd, files->name, buf, sizeof(buf)) >= 0);
		assert_string_equal(buf, files->text);
	}
}

static struct mr_group group(const struct mr_hierarchy_ops *ops, const struct temptree *f)
{
	return (struct mr_group){
		.ops = ops,
		.controllers = ALL,
		.base_fd = -1,
		.parent_fd = -1,
		.dir_fd = f->fd,
		.memory_max = MR_UNLIMITED,
		.file_fd = -1,
	};
}

static int confine(const struct mr_hierarchy_ops *ops, const struct temptree *f,
		   const struct mr_limits *limits, unsigned int extra, char note[160],
		   struct mr_error *err)
{
	struct mr_group g = group(ops, f);
	struct mr_limits normal;
	int r = mr_limits_normalise(limits, extra, &normal, err);

	note[0] = '\0';
	return r < 0 ? r : ops->confine(&g, &normal, note, 160, err);
}

/* What confine() writes over `before`, and the note it leaves. */
static void assert_confines(const struct mr_hierarchy_ops *ops, const struct temptree *f,
			    const struct mr_limits *limits, unsigned int extra,
			    const struct file *before, const struct file *after,
			    const char *expected)
{
	struct mr_error err = MR_ERROR_INIT;
	char note[160];

	put(f, before);
	if (confine(ops, f, limits, extra, note, &err) != 0)
		fail_msg("%s", err.msg);
	assert_files(f, after);
	assert_string_equal(note, expected);
}

static void v2_writes_every_limit_in_the_kernels_words(void **state)
{
	const struct mr_limits l = { 67108864, 0, 8, 50000, 100000, false };

	assert_confines(&mr_v2_ops, *state, &l, 2,
			FILES({ "memory.max", "" }, { "memory.swap.max", "" },
			      { "memory.oom.group", "" }, { "pids.max", "" }, { "cpu.max", "" }),
			FILES({ "memory.max", "67108864" }, { "memory.swap.max", "0" },
			      { "memory.oom.group", "1" }, { "pids.max", "10" },
			      { "cpu.max", "50000 100000" }),
			"");
}

static void v2_without_pids_fails_only_when_asked(void **state)
{
	struct mr_limits l = NO_LIMITS;
	struct mr_error err = MR_ERROR_INIT;
	char note[160];

	assert_int_equal(confine(&mr_v2_ops, *state, &l, 5, note, &err), 0);
	l.pids_max = 8;
	assert_int_equal(confine(&mr_v2_ops, *state, &l, 0, note, &err), -ENOENT);
	assert_int_equal(err.code, MR_E_KERNEL);
	assert_string_equal(err.msg, "set limit: pids_max: no pids.max in this cgroup");
}

static void v1_writes_every_limit_in_the_kernels_words(void **state)
{
	const struct mr_limits l = { 67108864, 4096, 8, 50000, 0, false };

	assert_confines(&mr_v1_ops, *state, &l, 2,
			FILES({ "memory.limit_in_bytes", "" },
			      { "memory.memsw.limit_in_bytes", "" },
			      { "memory.swappiness", "60\n" }, { "pids.max", "" },
			      { "cpu.cfs_period_us", "" }, { "cpu.cfs_quota_us", "" }),
			FILES({ "memory.limit_in_bytes", "67108864" },
			      { "memory.memsw.limit_in_bytes", "67112960" },
			      { "memory.swappiness", "60\n" }, { "pids.max", "10" },
			      { "cpu.cfs_period_us", "100000" }, { "cpu.cfs_quota_us", "50000" }),
			"");
}

static void v1_limits_the_memory_of_sockets_where_they_carry(void **state)
{
	struct mr_limits l = { 67108864, MR_UNLIMITED, MR_UNLIMITED, MR_UNLIMITED, 0, false };
	struct mr_error err = MR_ERROR_INIT;
	char note[160];

	assert_confines(&mr_v1_ops, *state, &l, 0, FILES({ "memory.limit_in_bytes", "" }),
			FILES({ "memory.limit_in_bytes", "67108864" }), "");
	l.sockets = true;
	assert_int_equal(confine(&mr_v1_ops, *state, &l, 0, note, &err), -ENOENT);
	assert_string_equal(err.msg, "set limit: sockets_max_bytes: no "
				     "memory.kmem.tcp.limit_in_bytes in this cgroup");
	assert_confines(&mr_v1_ops, *state, &l, 0, FILES({ "memory.kmem.tcp.limit_in_bytes", "" }),
			FILES({ "memory.kmem.tcp.limit_in_bytes", "67108864" }), "");
}

static void v1_without_memsw_avoids_swap_and_says_so(void **state)
{
	const struct mr_limits l = { 67108864, 0, MR_UNLIMITED, MR_UNLIMITED, 0, false };

	assert_confines(&mr_v1_ops, *state, &l, 0,
			FILES({ "memory.limit_in_bytes", "" }, { "memory.swappiness", "" }),
			FILES({ "memory.swappiness", "0" }),
			"swap: avoided by memory.swappiness=0 (this kernel has no memory.memsw)");
}

static void v1_swap_without_memory_limit_avoids_swap(void **state)
{
	const struct mr_limits l = { MR_UNLIMITED, 0, MR_UNLIMITED, MR_UNLIMITED, 0, false };

	assert_confines(&mr_v1_ops, *state, &l, 0,
			FILES({ "memory.memsw.limit_in_bytes", "" }, { "memory.swappiness", "" }),
			FILES({ "memory.memsw.limit_in_bytes", "" }, { "memory.swappiness", "0" }),
			"swap: avoided by memory.swappiness=0 (cgroup v1 counts swap only on top "
			"of "
			"a memory limit)");
}

static void unlimited_writes_nothing(void **state)
{
	const struct mr_limits l = NO_LIMITS;
	const struct file *files = FILES({ "memory.limit_in_bytes", "left" },
					 { "pids.max", "left" }, { "cpu.cfs_period_us", "left" });

	assert_confines(&mr_v1_ops, *state, &l, 9, files, files, "");
}

static void normalise_bounds(void **state)
{
	struct mr_limits l = NO_LIMITS, out;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_limits_normalise(&l, 7, &out, &err), 0);
	assert_true(out.pids_max == MR_UNLIMITED && out.cpu_quota_us == MR_UNLIMITED);
	assert_int_equal(out.cpu_period_us, 100000);
	l.pids_max = 4194304 - 2;
	assert_int_equal(mr_limits_normalise(&l, 2, &out, &err), 0);
	assert_int_equal(out.pids_max, 4194304);
	l.pids_max = MR_UNLIMITED - 1;
	assert_int_equal(mr_limits_normalise(&l, 2, &out, &err), 0);
	assert_int_equal(out.pids_max, 4194304);
	l.pids_max = 0;
	assert_int_equal(mr_limits_normalise(&l, 0, &out, &err), 0);
	assert_int_equal(out.pids_max, 0);
}

static void cpu_below_the_kernels_floor_keeps_its_share(void **state)
{
	static const struct {
		uint64_t quota, period, ret_quota, ret_period;
	} rows[] = {
		{ 1000, 100000, 1000, 100000 }, /* at the floor */
		{ 999, 100000, 1000, 100100 }, /* just under */
		{ 500, 100000, 1000, 200000 },
		{ 1, 1000000, 1000, 1000000 }, /* smaller than any share the kernel knows */
	};
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_limits l = NO_LIMITS, out;

		l.cpu_quota_us = rows[i].quota;
		l.cpu_period_us = rows[i].period;
		assert_int_equal(mr_limits_normalise(&l, 0, &out, &err), 0);
		assert_int_equal(out.cpu_quota_us, rows[i].ret_quota);
		assert_int_equal(out.cpu_period_us, rows[i].ret_period);
	}
}

static void cpu_out_of_range_is_refused(void **state)
{
	struct mr_limits l = NO_LIMITS, out;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	l.cpu_quota_us = 5000;
	l.cpu_period_us = 999;
	assert_int_equal(mr_limits_normalise(&l, 0, &out, &err), -EINVAL);
	assert_int_equal(err.code, MR_E_USAGE);
	assert_string_equal(err.msg, "cpu_period_us 999: accepted are 1000 to 1000000");
	l.cpu_period_us = 1000001;
	assert_int_equal(mr_limits_normalise(&l, 0, &out, &err), -EINVAL);
	l.cpu_period_us = 1000000;
	assert_int_equal(mr_limits_normalise(&l, 0, &out, &err), 0);
	l.cpu_quota_us = 0;
	assert_int_equal(mr_limits_normalise(&l, 0, &out, &err), -EINVAL);
	assert_string_equal(err.msg, "cpu_quota_us 0: accepted are 1 to 17592186044, or no limit");
	l.cpu_quota_us = MR_UNLIMITED - 1;
	assert_int_equal(mr_limits_normalise(&l, 0, &out, &err), -EINVAL);
}

static void controllers_follow_the_limits(void **state)
{
	struct mr_limits l = NO_LIMITS;

	(void)state;
	assert_int_equal(mr_limits_controllers(&l), 0);
	l.swap_max = 0;
	assert_int_equal(mr_limits_controllers(&l), MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY));
	l.pids_max = 1;
	l.cpu_quota_us = 1;
	assert_int_equal(mr_limits_controllers(&l), MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY) |
							    MR_CONTROLLER_BIT(MR_CONTROLLER_PIDS) |
							    MR_CONTROLLER_BIT(MR_CONTROLLER_CPU));
}

static void parse_takes_numbers_and_nothing_else(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   " 1",
					   "1x",
					   "maxi",
					   "-2",
					   "-10",
					   "+1",
					   "0x10",
					   "18446744073709551616",
					   "99999999999999999999999" };
	uint64_t v = 77;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(bad); i++)
		assert_null(mr_limits_parse(bad[i], &v));
	assert_int_equal(v, 77);
	assert_non_null(mr_limits_parse("0\n", &v));
	assert_int_equal(v, 0);
	assert_non_null(mr_limits_parse("18446744073709551615", &v));
	assert_true(v == UINT64_MAX);
	assert_non_null(mr_limits_parse("max\n", &v));
	assert_true(v == MR_UNLIMITED);
	assert_string_equal(mr_limits_parse("50000 100000", &v), " 100000");
	assert_int_equal(v, 50000);
}

static void v2_shows_what_the_files_say(void **state)
{
	const struct temptree *f = *state;
	struct mr_group g = group(&mr_v2_ops, f);
	struct mr_cgroup_shown rows[8];
	struct mr_error err = MR_ERROR_INIT;
	size_t n = 0;

	put(f, FILES({ "memory.max", "4096\n" }, { "pids.max", "max\n" },
		     { "cpu.max", "max 100000\n" }));
	assert_int_equal(mr_v2_ops.show(&g, rows, 8, &n, &err), 0);
	assert_int_equal(n, 4);
	assert_string_equal(rows[0].key, "memory_max_bytes");
	assert_string_equal(rows[0].file, "memory.max");
	assert_int_equal(rows[0].value, 4096);
	assert_string_equal(rows[1].key, "pids_max");
	assert_true(rows[1].value == MR_UNLIMITED);
	assert_string_equal(rows[2].key, "cpu_quota_us");
	assert_true(rows[2].value == MR_UNLIMITED);
	assert_string_equal(rows[3].key, "cpu_period_us");
	assert_int_equal(rows[3].value, 100000);
	n = 0;
	assert_int_equal(mr_v2_ops.show(&g, rows, 1, &n, &err), 0);
	assert_int_equal(n, 1);
	put(f, FILES({ "memory.max", "lots\n" }));
	n = 0;
	assert_int_equal(mr_v2_ops.show(&g, rows, 8, &n, &err), -EBADMSG);
	assert_string_equal(err.msg, "read memory.max: Bad message");
}

static void v1_shows_swap_as_the_difference(void **state)
{
	const struct temptree *f = *state;
	struct mr_group g = group(&mr_v1_ops, f);
	struct mr_cgroup_shown rows[8];
	struct mr_error err = MR_ERROR_INIT;
	size_t n = 0;

	g.controllers = MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY);
	put(f,
	    FILES({ "memory.limit_in_bytes", "8192\n" },
		  { "memory.memsw.limit_in_bytes", "12288\n" }, { "memory.swappiness", "60\n" }));
	assert_int_equal(mr_v1_ops.show(&g, rows, 8, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(rows[1].value, 4096);
	assert_string_equal(rows[1].file, "memory.memsw.limit_in_bytes");
	put(f, FILES({ "memory.swappiness", "0\n" },
		     { "memory.limit_in_bytes", "9223372036854771712\n" }));
	n = 0;
	assert_int_equal(mr_v1_ops.show(&g, rows, 8, &n, &err), 0);
	assert_true(rows[0].value == MR_UNLIMITED);
	assert_string_equal(rows[1].file, "memory.swappiness");
	assert_int_equal(rows[1].value, 0);
}

static void v1_knows_a_hit_limit_without_failcnt(void **state)
{
	const struct temptree *f = *state;

	assert_int_equal(mr_v1_ops.was_hit(f->fd), -ENOENT);
	put(f, FILES({ "memory.limit_in_bytes", "9223372036854771712\n" },
		     { "memory.max_usage_in_bytes", "9223372036854771712\n" }));
	assert_int_equal(mr_v1_ops.was_hit(f->fd), 0);
	put(f, FILES({ "memory.limit_in_bytes", "8388608\n" },
		     { "memory.max_usage_in_bytes", "8323071\n" })); /* 65537 below */
	assert_int_equal(mr_v1_ops.was_hit(f->fd), 0);
	put(f, FILES({ "memory.max_usage_in_bytes", "8323072\n" }));
	assert_int_equal(mr_v1_ops.was_hit(f->fd), 1);
	put(f, FILES({ "memory.max_usage_in_bytes", "4096\n" }, { "memory.failcnt", "1\n" }));
	assert_int_equal(mr_v1_ops.was_hit(f->fd), 1);
	put(f, FILES({ "memory.failcnt", "0\n" }, { "memory.memsw.limit_in_bytes", "8388608\n" },
		     { "memory.memsw.failcnt", "2\n" }));
	assert_int_equal(mr_v1_ops.was_hit(f->fd), 1);
}

static void v1_never_shows_zero_hits_at_the_limit(void **state)
{
	const struct temptree *f = *state;
	struct mr_group g = group(&mr_v1_ops, f);
	struct mr_cgroup_stats s = { .memory_max_events = 0, .memory_peak_bytes = 8388608 };

	mr_v1_ops.finish_stats(&g, &s); /* no limit asked */
	assert_int_equal(s.memory_max_events, 0);
	g.memory_max = 8388608;
	mr_v1_ops.finish_stats(&g, &s);
	assert_true(s.memory_max_events == MR_STAT_UNKNOWN);
	s = (struct mr_cgroup_stats){ .memory_max_events = 3, .memory_peak_bytes = 8388608 };
	mr_v1_ops.finish_stats(&g, &s);
	assert_int_equal(s.memory_max_events, 3);
}

static void v2_is_hit_by_its_own_limit_only(void **state)
{
	const struct temptree *f = *state;

	assert_int_equal(mr_v2_ops.was_hit(f->fd), -ENOENT);
	put(f, FILES({ "memory.max", "max\n" }, { "memory.events", "max 0\noom 1\n" }));
	assert_int_equal(mr_v2_ops.was_hit(f->fd), 0);
	put(f, FILES({ "memory.max", "4096\n" }));
	assert_int_equal(mr_v2_ops.was_hit(f->fd), 1);
	put(f, FILES({ "memory.events.local", "max 9\noom 0\n" }));
	assert_int_equal(mr_v2_ops.was_hit(f->fd), 0);
}

static void names(void **state)
{
	char name[MR_CGROUP_NAME_MAX + 2];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[MR_CGROUP_NAME_MAX + 1] = '\0';
	assert_false(mr_cgroup_name_ok(name));
	name[MR_CGROUP_NAME_MAX] = '\0';
	assert_true(mr_cgroup_name_ok(name));
	assert_true(mr_cgroup_name_ok("run-1.2_X"));
	assert_true(mr_cgroup_name_ok("-rf"));
	assert_true(mr_cgroup_name_ok("..."));
	assert_false(mr_cgroup_name_ok(""));
	assert_false(mr_cgroup_name_ok("."));
	assert_false(mr_cgroup_name_ok(".."));
	assert_false(mr_cgroup_name_ok("a/b"));
	assert_false(mr_cgroup_name_ok("a\nb"));
	assert_false(mr_cgroup_name_ok("\xc3\xa4"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(v2_writes_every_limit_in_the_kernels_words),
		TEST(v2_without_pids_fails_only_when_asked),
		TEST(v1_writes_every_limit_in_the_kernels_words),
		TEST(v1_limits_the_memory_of_sockets_where_they_carry),
		TEST(v1_without_memsw_avoids_swap_and_says_so),
		TEST(v1_swap_without_memory_limit_avoids_swap),
		TEST(unlimited_writes_nothing),
		TEST(v2_shows_what_the_files_say),
		TEST(v1_shows_swap_as_the_difference),
		TEST(v1_knows_a_hit_limit_without_failcnt),
		TEST(v1_never_shows_zero_hits_at_the_limit),
		TEST(v2_is_hit_by_its_own_limit_only),
		cmocka_unit_test(normalise_bounds),
		cmocka_unit_test(cpu_below_the_kernels_floor_keeps_its_share),
		cmocka_unit_test(cpu_out_of_range_is_refused),
		cmocka_unit_test(controllers_follow_the_limits),
		cmocka_unit_test(parse_takes_numbers_and_nothing_else),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
