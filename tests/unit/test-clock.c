/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock: what was set is told, and no more than is known; waits on a virtual clock
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/clock_virtual.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"

#define S 1000000000ULL
#define DAY (86400 * S)

static int64_t skew(int64_t from, int64_t from_doubt, int64_t to, int64_t to_doubt)
{
	const struct mr_clock_reading a = { from, from_doubt }, b = { to, to_doubt };

	return mr_clock_skew_ns(&a, &b);
}

static void what_was_set_is_told_with_its_sign(void **state)
{
	(void)state;
	assert_int_equal(skew(1700000000000000000, 50, 1700000003000000000, 50), 3000000000);
	assert_int_equal(skew(1700000000000000000, 50, 1699999996500000000, 50), -3500000000);
	assert_int_equal(skew(1000, 50, 1101, 50), 101);
}

static void what_the_readings_may_be_off_is_no_skew(void **state)
{
	(void)state;
	assert_int_equal(skew(1000, 50, 1100, 50), 0);
	assert_int_equal(skew(1000, 50, 900, 50), 0);
	assert_int_equal(skew(1000, 0, 1000, 0), 0);
}

/* Nobody sets the clock between them; a machine that is always this slow would be useless. */
static void readings_are_close(void **state)
{
	struct mr_clock_reading a, b;

	(void)state;
	for (int i = 0; i < 10; i++) {
		mr_clock_read(&a);
		mr_clock_read(&b);
		if (a.doubt_ns <= 100000000)
			break;
	}
	assert_in_range(a.doubt_ns, 1, 100000000);
	assert_true(a.offset_ns > 0);
	assert_int_equal(mr_clock_skew_ns(&a, &b), 0);
}

static unsigned int fired;

static void on_timer(struct mr_source *source, uint32_t events)
{
	(void)events;
	fired++;
	mr_timer_ack(source->fd);
}

static void all_clocks_stand_still_but_for_the_test(void **state)
{
	(void)state;
	mr_clock_set_virtual(5 * S);
	assert_int_equal(mr_now_ns(), 5 * S);
	assert_int_equal(mr_clock_ns(MR_CLOCK_MONOTONIC), 5 * S);
	const uint64_t real = mr_clock_ns(MR_CLOCK_REAL);

	mr_clock_advance(DAY);
	assert_int_equal(mr_now_ns(), 5 * S + DAY);
	assert_int_equal(mr_clock_ns(MR_CLOCK_REAL), real + DAY);
	assert_int_equal(mr_clock_real_us(), (int64_t)(real + DAY) / 1000);
	assert_int_equal(mr_clock_ns(MR_CLOCK_THREAD_CPU), 0);
	mr_clock_advance_cpu(7);
	assert_int_equal(mr_clock_ns(MR_CLOCK_PROCESS_CPU), 7);
	mr_clock_set_real();
	assert_true(mr_clock_ns(MR_CLOCK_REAL) != real + DAY);
}

static void a_wait_ends_at_once_and_takes_its_time(void **state)
{
	struct pollfd p = { .events = POLLIN };
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	p.fd = fds[0];
	mr_clock_set_virtual(5 * S);
	assert_int_equal(mr_clock_poll(&p, 1, 5 * S + DAY), 0);
	assert_int_equal(mr_now_ns(), 5 * S + DAY);
	mr_clock_sleep(5 * S + 2 * DAY);
	assert_int_equal(mr_now_ns(), 5 * S + 2 * DAY);
	mr_clock_sleep(5 * S); /* long over */
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(mr_clock_poll(&p, 1, UINT64_MAX), 1);
	assert_int_equal(mr_now_ns(), 5 * S + 2 * DAY);
	mr_clock_set_real();
	assert_int_equal(mr_clock_poll(&p, 1, mr_now_ns() + DAY), 1);
	close(fds[0]);
	close(fds[1]);
}

static void a_real_wait_is_not_too_short(void **state)
{
	const uint64_t until = mr_now_ns() + 3000001;

	(void)state;
	assert_int_equal(mr_clock_poll(NULL, 0, until), 0);
	assert_true(mr_now_ns() >= until);
}

static void the_loop_goes_from_timer_to_timer(void **state)
{
	struct mr_source first = { .fd = -1 }, second = { .fd = -1 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_loop *loop = NULL;
	int timers[2];

	(void)state;
	fired = 0;
	mr_clock_set_virtual(5 * S);
	assert_int_equal(mr_loop_new(&loop, &err), 0);
	for (int i = 0; i < 2; i++)
		assert_true((timers[i] = mr_timer_open(&err)) >= 0);
	assert_int_equal(mr_loop_add(loop, &first, timers[0], EPOLLIN, on_timer, NULL, &err), 0);
	assert_int_equal(mr_loop_add(loop, &second, timers[1], EPOLLIN, on_timer, NULL, &err), 0);
	assert_int_equal(mr_timer_arm(timers[0], 5 * S + DAY, &err), 0);
	assert_int_equal(mr_timer_arm(timers[1], 6 * S, &err), 0);
	assert_int_equal(mr_loop_run_once(loop, 0, &err), 0); /* does not wait */
	assert_int_equal(mr_now_ns(), 5 * S);
	assert_int_equal(mr_loop_run_once(loop, 400, &err), 0); /* not so long */
	assert_int_equal(mr_now_ns(), 5 * S + 2 * S / 5);
	assert_int_equal(mr_loop_run_once(loop, -1, &err), 1);
	assert_int_equal(mr_now_ns(), 6 * S);
	assert_int_equal(mr_loop_run_once(loop, -1, &err), 1);
	assert_int_equal(mr_now_ns(), 5 * S + DAY);
	assert_int_equal(fired, 2);
	assert_int_equal(mr_timer_arm(timers[0], 5 * S, &err), 0); /* late already */
	assert_int_equal(mr_timer_arm(timers[1], 7 * DAY, &err), 0);
	assert_int_equal(mr_timer_arm(timers[1], 0, &err), 0);
	assert_int_equal(mr_loop_run_once(loop, 0, &err), 1);
	assert_int_equal(mr_loop_run_once(loop, 1000, &err), 0);
	assert_int_equal(fired, 3);
	mr_loop_free(loop);
	for (int i = 0; i < 2; i++)
		mr_close(timers[i]);
	mr_clock_set_real();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_set_is_told_with_its_sign),
		cmocka_unit_test(what_the_readings_may_be_off_is_no_skew),
		cmocka_unit_test(readings_are_close),
		cmocka_unit_test(all_clocks_stand_still_but_for_the_test),
		cmocka_unit_test(a_wait_ends_at_once_and_takes_its_time),
		cmocka_unit_test(a_real_wait_is_not_too_short),
		cmocka_unit_test(the_loop_goes_from_timer_to_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
