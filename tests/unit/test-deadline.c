/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines, on a virtual clock, and with a CPU clock that the test turns
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/clock_virtual.h"
#include "runtime/base/error.h"
#include "runtime/supervise/deadline.h"

#define MS 1000000ULL
#define PATIENCE_MS 20000 /* longer than all that is to come */
#define NONE UINT64_MAX
#define YEAR_MS 31536000000ULL

struct fixture {
	struct mr_loop *loop;
	struct mr_deadlines d;
	uint64_t began_ns;
	uint64_t cpu_us; /* what the clock shows */
	uint64_t cpu_share_pc; /* and how fast it runs by itself, in percent of one CPU */
	int cpu_error;
	unsigned int looks, due[4];
	bool stop_when_due;
};

static int read_cpu(void *owner, uint64_t *ret)
{
	struct fixture *f = owner;

	f->looks++;
	*ret = f->cpu_us + (mr_now_ns() - f->began_ns) / 1000 * f->cpu_share_pc / 100;
	return f->cpu_error;
}

static void on_due(void *owner, enum mr_deadline which)
{
	struct fixture *f = owner;

	f->due[which]++;
	if (f->stop_when_due)
		mr_deadlines_stop(&f->d);
}

static int set_up(void **state)
{
	static struct fixture f;
	struct mr_error err;

	f = (struct fixture){ .d.source.fd = -1, .stop_when_due = true };
	*state = &f;
	mr_clock_set_virtual(1000 * MS);
	return mr_loop_new(&f.loop, &err);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	mr_deadlines_stop(&f->d);
	f->loop = mr_loop_free(f->loop);
	mr_clock_set_real();
	return 0;
}

static void begin(struct fixture *f, struct mr_deadlines_opts opts)
{
	struct mr_error err;

	opts.cpus = opts.cpus ? opts.cpus : 1;
	opts.cpu_usage_us = read_cpu;
	opts.on_due = on_due;
	opts.owner = f;
	f->began_ns = mr_now_ns();
	assert_int_equal(mr_deadlines_start(&f->d, f->loop, &opts, &err), 0);
}

static unsigned int sum_due(const struct fixture *f)
{
	return f->due[0] + f->due[1] + f->due[2] + f->due[3];
}

static uint64_t elapsed_ms(const struct fixture *f)
{
	return (mr_now_ns() - f->began_ns) / MS;
}

/* Until something is due, or this long since the beginning. */
static void run_until(struct fixture *f, uint64_t ms)
{
	struct mr_error err;

	while (!sum_due(f) && elapsed_ms(f) < ms)
		assert_true(mr_loop_run_once(f->loop, (int)(ms - elapsed_ms(f)) + 1, &err) >= 0);
}

static void wall_is_due_at_its_time(void **state)
{
	struct fixture *f = *state;

	begin(f, (struct mr_deadlines_opts){ .wall_ms = 40, .cpu_time_ms = NONE, .idle_ms = NONE });
	run_until(f, PATIENCE_MS);
	assert_int_equal(f->due[MR_DEADLINE_WALL], 1);
	assert_int_equal(sum_due(f), 1);
	assert_int_equal(elapsed_ms(f), 40);
	assert_int_equal(f->looks, 0);
}

static void nothing_is_due_without_limits(void **state)
{
	struct fixture *f = *state;

	f->cpu_us = NONE / 4;
	begin(f,
	      (struct mr_deadlines_opts){ .wall_ms = NONE, .cpu_time_ms = NONE, .idle_ms = NONE });
	run_until(f, 60);
	assert_int_equal(sum_due(f), 0);
	assert_int_equal(f->looks, 0);
}

static void a_year_is_not_over_at_once(void **state)
{
	struct fixture *f = *state;

	begin(f, (struct mr_deadlines_opts){
			 .wall_ms = YEAR_MS, .cpu_time_ms = YEAR_MS, .idle_ms = YEAR_MS });
	run_until(f, 30);
	assert_int_equal(sum_due(f), 0);
	/* nor a time beyond what 64 bits of nanoseconds hold */
	mr_deadlines_stop(&f->d);
	begin(f, (struct mr_deadlines_opts){
			 .wall_ms = NONE - 1, .cpu_time_ms = NONE, .idle_ms = NONE });
	run_until(f, 30);
	assert_int_equal(sum_due(f), 0);
}

static void cpu_is_due_at_its_budget_and_not_below(void **state)
{
	struct fixture *f = *state;

	f->cpu_us = 19999;
	begin(f, (struct mr_deadlines_opts){ .wall_ms = NONE, .cpu_time_ms = 20, .idle_ms = NONE });
	run_until(f, 60);
	assert_true(f->looks >= 1);
	assert_int_equal(sum_due(f), 0);
	f->cpu_us = 20000;
	run_until(f, PATIENCE_MS);
	assert_int_equal(f->due[MR_DEADLINE_CPU], 1);
	assert_int_equal(sum_due(f), 1);
}

static void cpu_of_many_processors_is_watched_closer(void **state)
{
	struct fixture *f = *state;

	f->cpu_share_pc = 400;
	begin(f, (struct mr_deadlines_opts){
			 .wall_ms = NONE, .cpu_time_ms = 200, .idle_ms = NONE, .cpus = 4 });
	run_until(f, PATIENCE_MS);
	assert_int_equal(f->due[MR_DEADLINE_CPU], 1);
	assert_int_equal(elapsed_ms(f), 50);
	assert_true(f->looks <= 60);
}

static void long_budget_is_looked_at_seldom(void **state)
{
	struct fixture *f = *state;

	begin(f,
	      (struct mr_deadlines_opts){ .wall_ms = NONE, .cpu_time_ms = 60000, .idle_ms = NONE });
	run_until(f, 50);
	assert_int_equal(f->looks, 0);
}

static void cpu_that_cannot_be_told_is_not_used(void **state)
{
	struct fixture *f = *state;

	f->cpu_us = 1000000;
	f->cpu_error = -EIO;
	begin(f, (struct mr_deadlines_opts){ .wall_ms = NONE, .cpu_time_ms = 10, .idle_ms = NONE });
	run_until(f, 50);
	assert_true(f->looks >= 1);
	assert_int_equal(sum_due(f), 0);
}

static void wall_wins_over_cpu(void **state)
{
	struct fixture *f = *state;

	f->cpu_us = 1000000;
	begin(f, (struct mr_deadlines_opts){ .wall_ms = 20, .cpu_time_ms = 20, .idle_ms = NONE });
	run_until(f, PATIENCE_MS);
	assert_int_equal(f->due[MR_DEADLINE_WALL], 1);
	assert_int_equal(sum_due(f), 1);
}

static void idle_is_due_after_silence(void **state)
{
	struct fixture *f = *state;

	begin(f, (struct mr_deadlines_opts){ .wall_ms = NONE, .cpu_time_ms = NONE, .idle_ms = 60 });
	run_until(f, PATIENCE_MS);
	assert_int_equal(f->due[MR_DEADLINE_IDLE], 1);
	assert_int_equal(elapsed_ms(f), 60);
}

static void activity_puts_idle_off(void **state)
{
	struct fixture *f = *state;
	uint64_t last = 0;

	begin(f,
	      (struct mr_deadlines_opts){ .wall_ms = NONE, .cpu_time_ms = NONE, .idle_ms = 100 });
	while (!sum_due(f) && elapsed_ms(f) < 300) {
		struct mr_error err;

		last = elapsed_ms(f);
		mr_deadlines_activity(&f->d);
		assert_true(mr_loop_run_once(f->loop, 10, &err) >= 0);
	}
	run_until(f, PATIENCE_MS);
	assert_int_equal(f->due[MR_DEADLINE_IDLE], 1);
	assert_int_equal(elapsed_ms(f), last + 100);
}

static void work_puts_idle_off(void **state)
{
	struct fixture *f = *state;

	f->cpu_share_pc = 5;
	begin(f, (struct mr_deadlines_opts){ .wall_ms = NONE, .cpu_time_ms = NONE, .idle_ms = 50 });
	run_until(f, 250);
	assert_int_equal(sum_due(f), 0);
}

static void a_little_work_is_idle(void **state)
{
	struct fixture *f = *state;

	begin(f, (struct mr_deadlines_opts){ .wall_ms = NONE, .cpu_time_ms = NONE, .idle_ms = 80 });
	f->cpu_us = 100; /* at most half a percent of the first look's 20 ms */
	run_until(f, PATIENCE_MS);
	assert_int_equal(f->due[MR_DEADLINE_IDLE], 1);
}

static void polls_come_again_and_again(void **state)
{
	struct fixture *f = *state;

	f->stop_when_due = false;
	begin(f, (struct mr_deadlines_opts){
			 .wall_ms = NONE, .cpu_time_ms = NONE, .idle_ms = NONE, .poll_ms = 5 });
	while (f->due[MR_DEADLINE_POLL] < 5 && elapsed_ms(f) < PATIENCE_MS) {
		struct mr_error err;

		assert_true(mr_loop_run_once(f->loop, 1000, &err) >= 0);
	}
	assert_int_equal(f->due[MR_DEADLINE_POLL], 5);
	assert_int_equal(elapsed_ms(f), 25);
	assert_int_equal(sum_due(f), 5);
}

static void polls_do_not_put_off_the_wall(void **state)
{
	struct fixture *f = *state;
	struct mr_error err;

	f->stop_when_due = false;
	begin(f, (struct mr_deadlines_opts){
			 .wall_ms = 502, .cpu_time_ms = NONE, .idle_ms = NONE, .poll_ms = 5 });
	while (!f->due[MR_DEADLINE_WALL] && elapsed_ms(f) < PATIENCE_MS)
		assert_true(mr_loop_run_once(f->loop, 1000, &err) >= 0);
	assert_int_equal(elapsed_ms(f), 502);
	assert_int_equal(f->due[MR_DEADLINE_POLL], 100);
}

static void time_stopped_by_the_user_does_not_count(void **state)
{
	struct fixture *f = *state;

	begin(f, (struct mr_deadlines_opts){ .wall_ms = 40, .cpu_time_ms = NONE, .idle_ms = NONE });
	mr_deadlines_shift(&f->d, 100 * MS);
	run_until(f, PATIENCE_MS);
	assert_int_equal(f->due[MR_DEADLINE_WALL], 1);
	assert_int_equal(elapsed_ms(f), 140);
}

static void stopped_deadlines_are_silent(void **state)
{
	struct fixture *f = *state;

	begin(f, (struct mr_deadlines_opts){ .wall_ms = 10, .cpu_time_ms = 10, .idle_ms = 10 });
	mr_deadlines_stop(&f->d);
	mr_deadlines_stop(&f->d);
	mr_deadlines_shift(&f->d, MS);
	run_until(f, 40);
	assert_int_equal(sum_due(f), 0);
}

/* Something of the program's that the loop tells of. */
struct sign {
	struct mr_source source;
	int pipe[2];
};

static void on_output(struct mr_source *source, uint32_t events)
{
	struct fixture *f = source->owner;
	char byte;

	(void)events;
	assert_int_equal(read(source->fd, &byte, 1), 1);
	mr_deadlines_activity(&f->d);
}

static void on_end(struct mr_source *source, uint32_t events)
{
	struct fixture *f = source->owner;

	(void)events;
	mr_deadlines_stop(&f->d);
	mr_loop_remove(f->loop, source);
}

static void watch_sign(struct fixture *f, struct sign *sign,
		       void (*on_event)(struct mr_source *, uint32_t))
{
	struct mr_error err;

	assert_int_equal(pipe2(sign->pipe, O_CLOEXEC), 0);
	assert_int_equal(mr_loop_add(f->loop, &sign->source, sign->pipe[0], EPOLLIN, on_event, f,
				     &err),
			 0);
}

/* The timer fires, and we are kept from running for so long; meanwhile the program gives its sign. */
static void be_held_up(struct fixture *f, struct sign *sign, uint64_t ms)
{
	struct mr_error err;

	mr_clock_advance(ms * MS);
	assert_int_equal(write(sign->pipe[1], "x", 1), 1);
	for (int i = 0; i < 3; i++)
		assert_true(mr_loop_run_once(f->loop, 0, &err) >= 0);
}

static void drop_sign(struct fixture *f, struct sign *sign)
{
	mr_loop_remove(f->loop, &sign->source);
	mr_close(sign->pipe[0]);
	mr_close(sign->pipe[1]);
}

static void output_that_waits_behind_the_timer_is_no_silence(void **state)
{
	struct fixture *f = *state;
	struct sign sign;

	begin(f,
	      (struct mr_deadlines_opts){ .wall_ms = NONE, .cpu_time_ms = NONE, .idle_ms = 1000 });
	watch_sign(f, &sign, on_output);
	be_held_up(f, &sign, 1000);
	assert_int_equal(sum_due(f), 0);
	run_until(f, 20000);
	assert_int_equal(f->due[MR_DEADLINE_IDLE], 1);
	assert_int_equal(elapsed_ms(f), 2000);
	drop_sign(f, &sign);
}

static void an_end_that_waits_behind_the_timer_is_in_time(void **state)
{
	struct fixture *f = *state;
	struct sign sign;

	begin(f, (struct mr_deadlines_opts){ .wall_ms = 20, .cpu_time_ms = NONE, .idle_ms = NONE });
	watch_sign(f, &sign, on_end);
	be_held_up(f, &sign, 20);
	run_until(f, 100);
	assert_int_equal(sum_due(f), 0);
	drop_sign(f, &sign);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wall_is_due_at_its_time),
		TEST(nothing_is_due_without_limits),
		TEST(a_year_is_not_over_at_once),
		TEST(cpu_is_due_at_its_budget_and_not_below),
		TEST(cpu_of_many_processors_is_watched_closer),
		TEST(long_budget_is_looked_at_seldom),
		TEST(cpu_that_cannot_be_told_is_not_used),
		TEST(wall_wins_over_cpu),
		TEST(idle_is_due_after_silence),
		TEST(activity_puts_idle_off),
		TEST(work_puts_idle_off),
		TEST(a_little_work_is_idle),
		TEST(polls_come_again_and_again),
		TEST(polls_do_not_put_off_the_wall),
		TEST(time_stopped_by_the_user_does_not_count),
		TEST(stopped_deadlines_are_silent),
		TEST(output_that_waits_behind_the_timer_is_no_silence),
		TEST(an_end_that_waits_behind_the_timer_is_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
