/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of frames, and the relay between two sockets in place of a device and a supervisor
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "netns/netem.h"
#include "netns/relay.h"
#include "netns/relay_queue.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/loop.h"

#define FRAMES 16
#define MS 1000000ULL
#define PATIENCE_MS 20000

static void push(struct mr_relay_queue *queue, uint64_t due_ns, uint8_t mark)
{
	struct mr_relay_frame *frame = mr_relay_queue_room(queue);

	assert_non_null(frame);
	frame->due_ns = due_ns;
	frame->size = 1;
	frame->bytes[0] = mark;
	mr_relay_queue_push(queue);
}

static uint8_t pop(struct mr_relay_queue *queue)
{
	const struct mr_relay_frame *frame = mr_relay_queue_first(queue);
	uint8_t mark;

	assert_non_null(frame);
	mark = frame->bytes[0];
	mr_relay_queue_pop(queue);
	return mark;
}

static void the_first_due_goes_first(void **state)
{
	struct mr_relay_queue *queue = mr_relay_queue_new(8);

	(void)state;
	push(queue, 30, 'c');
	push(queue, 10, 'a');
	push(queue, 40, 'd');
	push(queue, 20, 'b');
	assert_int_equal(pop(queue), 'a');
	push(queue, 5, '0');
	assert_int_equal(pop(queue), '0');
	assert_int_equal(pop(queue), 'b');
	assert_int_equal(pop(queue), 'c');
	assert_int_equal(pop(queue), 'd');
	assert_null(mr_relay_queue_first(queue));
	mr_relay_queue_free(queue);
}

static void of_one_time_the_first_come_goes_first(void **state)
{
	struct mr_relay_queue *queue = mr_relay_queue_new(100);

	(void)state;
	for (uint8_t i = 0; i < 100; i++)
		push(queue, 7, i);
	for (uint8_t i = 0; i < 100; i++)
		assert_int_equal(pop(queue), i);
	mr_relay_queue_free(queue);
}

static void a_full_one_takes_none_and_then_again(void **state)
{
	struct mr_relay_queue *queue = mr_relay_queue_new(3);

	(void)state;
	for (int turn = 0; turn < 1000; turn++) {
		push(queue, 3, 3);
		push(queue, 1, 1);
		push(queue, 2, 2);
		assert_null(mr_relay_queue_room(queue));
		assert_int_equal(mr_relay_queue_waiting(queue), 3);
		for (uint8_t i = 1; i <= 3; i++)
			assert_int_equal(pop(queue), i);
	}
	mr_relay_queue_free(queue);
}

static void what_came_before_is_dropped_and_the_rest_keeps_its_order(void **state)
{
	struct mr_relay_queue *queue = mr_relay_queue_new(64);

	(void)state;
	for (uint8_t i = 0; i < 60; i++) {
		struct mr_relay_frame *frame = mr_relay_queue_room(queue);

		frame->came_ns = 100 + i % 3; /* 100: to be dropped */
		push(queue, 1000 - (uint64_t)(i / 6), i); /* six of one time; the last come first */
	}
	mr_relay_queue_drop(queue, 101);
	assert_int_equal(mr_relay_queue_waiting(queue), 40);
	for (int block = 9; block >= 0; block--)
		for (uint8_t i = 0; i < 6; i++)
			if (i % 3 != 0)
				assert_int_equal(pop(queue), block * 6 + i);
	assert_null(mr_relay_queue_first(queue));
	for (uint8_t i = 0; i < 64; i++)
		push(queue, i, i);
	assert_null(mr_relay_queue_room(queue));
	for (uint8_t i = 0; i < 64; i++)
		assert_int_equal(pop(queue), i);
	mr_relay_queue_free(queue);
}

/* --- the whole -------------------------------------------------------------------------- */

struct served {
	pid_t pid;
	int channel, device;
};

static int confine_nothing(struct mr_netd *netd, struct mr_error *err)
{
	const struct mr_netd_ready ready = { .head = { MR_NETD_READY, sizeof(ready) } };

	(void)err;
	return mr_send_msg(netd->channel, &ready, sizeof(ready), NULL, 0);
}

static void start(struct served *s, const struct mr_relay_config *config)
{
	struct mr_netd_ready ready;
	int channel[2], device[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, device), 0);
	assert_int_equal(fcntl(device[1], F_SETFL, O_NONBLOCK), 0); /* as the relay reads it */
	s->pid = fork();
	if (s->pid == 0) {
		struct mr_netd netd = { .config = (const char *)config,
					.config_size = sizeof(*config),
					.channel = channel[1],
					.doors = { device[1] } };
		struct mr_error err = MR_ERROR_INIT;

		close(channel[0]);
		close(device[0]);
		_exit(mr_relay_main(&netd, confine_nothing, &err) < 0 ? 1 : 0);
	}
	assert_true(s->pid > 0);
	close(channel[1]);
	close(device[1]);
	s->channel = channel[0];
	s->device = device[0];
	assert_int_equal(recv(s->channel, &ready, sizeof(ready), 0), sizeof(ready));
}

static void send_frame(const struct served *s, uint8_t mark)
{
	assert_int_equal(send(s->device, &mark, 1, 0), 1);
}

static uint8_t receive(const struct served *s)
{
	struct pollfd p = { .fd = s->device, .events = POLLIN };
	uint8_t mark;

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(recv(s->device, &mark, 1, 0), 1);
	return mark;
}

static struct mr_relay_counts end(struct served *s)
{
	struct mr_relay_counts counts;
	int status;

	shutdown(s->channel, SHUT_WR);
	assert_int_equal(recv(s->channel, &counts, sizeof(counts), 0), sizeof(counts));
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_int_equal(status, 0);
	close(s->channel);
	close(s->device);
	return counts;
}

static void a_frame_takes_its_time(void **state)
{
	const struct mr_relay_config config = { .latency_us = 30000, .limit = 10, .seed = 1 };
	struct mr_relay_counts counts;
	struct served s;
	uint64_t begin;

	(void)state;
	start(&s, &config);
	begin = mr_now_ns();
	send_frame(&s, 7);
	assert_int_equal(receive(&s), 7);
	assert_true(mr_now_ns() - begin >= 30 * MS);
	counts = end(&s);
	assert_int_equal(counts.packets, 1);
	assert_int_equal(counts.bytes, 1);
	assert_true(counts.delay_min_ns >= 30 * MS);
	assert_int_equal(counts.delay_min_ns, counts.delay_max_ns);
	assert_int_equal(counts.delay_sum_ns, counts.delay_max_ns);
	assert_int_equal(counts.late_max_ns, counts.delay_max_ns - 30 * MS);
}

/* Until the other end has read what was sent, before which a later frame may be looked at. */
static void wait_until_taken(int fd)
{
	const uint64_t end = mr_now_ns() + PATIENCE_MS * MS;
	int waiting;

	do {
		assert_true(mr_now_ns() < end);
		assert_int_equal(ioctl(fd, SIOCOUTQ, &waiting), 0);
	} while (waiting > 0 && poll(NULL, 0, 1) == 0);
}

static void what_finds_no_room_is_counted(void **state)
{
	/* So long that nobody sees the end of it. */
	const struct mr_relay_config config = { .latency_us = 100000000, .limit = 4, .seed = 1 };
	struct mr_relay_counts counts;
	struct served s;

	(void)state;
	start(&s, &config);
	for (uint8_t i = 0; i < 10; i++)
		send_frame(&s, i);
	wait_until_taken(s.device);
	counts = end(&s);
	assert_int_equal(counts.packets, 0);
	assert_int_equal(counts.waiting, 4);
	assert_int_equal(counts.dropped, 6);
}

static void the_word_to_begin_begins_counts_anew(void **state)
{
	const struct mr_relay_config config = { .limit = 10, .seed = 3 };
	const struct mr_netd_begin begin = { .head = { MR_NETD_BEGIN, sizeof(begin) } };
	struct mr_relay_counts counts;
	struct served s;

	(void)state;
	start(&s, &config);
	for (uint8_t i = 0; i < 5; i++) {
		send_frame(&s, i);
		assert_int_equal(receive(&s), i);
	}
	assert_int_equal(mr_send_msg(s.channel, &begin, sizeof(begin), NULL, 0), 0);
	wait_until_taken(s.channel);
	send_frame(&s, 9);
	assert_int_equal(receive(&s), 9);
	counts = end(&s);
	assert_int_equal(counts.packets, 1);
	assert_int_equal(counts.seed, 3);
}

static void what_waits_when_it_begins_is_gone(void **state)
{
	const struct mr_relay_config config = { .latency_us = 100000000, .limit = 10 };
	struct mr_netd_begin begin = { .head = { MR_NETD_BEGIN, sizeof(begin) } };
	struct mr_relay_counts counts;
	struct served s;

	(void)state;
	start(&s, &config);
	send_frame(&s, 7);
	wait_until_taken(s.device);
	begin.begin_ns =
		mr_now_ns() + 1000 * MS; /* a frame has its time some instants after its read */
	assert_int_equal(mr_send_msg(s.channel, &begin, sizeof(begin), NULL, 0), 0);
	wait_until_taken(s.channel);
	send_frame(&s, 8);
	wait_until_taken(s.device);
	counts = end(&s);
	assert_int_equal(counts.packets, 0);
	assert_int_equal(counts.waiting, 1);
}

/* All at once; the order in which they come. */
static void jitter(const struct mr_relay_config *config, uint8_t order[FRAMES])
{
	struct served s;

	start(&s, config);
	for (uint8_t i = 0; i < FRAMES; i++)
		send_frame(&s, i);
	for (uint8_t i = 0; i < FRAMES; i++)
		order[i] = receive(&s);
	end(&s);
}

static bool is_in_order(const uint8_t order[FRAMES])
{
	for (uint8_t i = 0; i < FRAMES; i++)
		if (order[i] != i)
			return false;
	return true;
}

/* A task that is kept waiting between two reads may swap two frames: not each time. */
static void a_seed_gives_one_order(void **state)
{
	struct mr_relay_config config = {
		.latency_us = 100000, .jitter_us = 100000, .limit = FRAMES, .seed = 42
	};
	uint8_t first[FRAMES], second[FRAMES], other[FRAMES];
	bool same = false;

	(void)state;
	for (int i = 0; i < 50 && !same; i++) {
		jitter(&config, first);
		jitter(&config, second);
		same = memcmp(first, second, FRAMES) == 0;
	}
	assert_true(same);
	assert_false(is_in_order(first));
	config.seed = 43;
	jitter(&config, other);
	assert_memory_not_equal(first, other, FRAMES);
}

static void where_there_is_a_rate_jitter_keeps_the_order(void **state)
{
	const struct mr_relay_config config = {
		.latency_us = 20000, .jitter_us = 20000, .limit = FRAMES, .seed = 42, .in_order = 1
	};
	uint8_t order[FRAMES];

	(void)state;
	jitter(&config, order);
	assert_true(is_in_order(order));
}

static void a_configuration_without_sense_is_refused(void **state)
{
	static const struct mr_relay_config configs[] = {
		{ .limit = 0 },
		{ .limit = MR_NETEM_LIMIT_MAX + 1 },
		{ .limit = 1, .latency_us = MR_NETEM_DELAY_MAX_US + 1 },
		{ .limit = 1, .jitter_us = MR_NETEM_JITTER_MAX_US + 1 },
		{ .limit = 1, .reorder_ppm = 1000001 },
		{ .limit = 1, .in_order = 2 },
	};
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i <= N_ELEMENTS(configs); i++) {
		struct mr_netd netd = { .config = (const char *)&configs[i % N_ELEMENTS(configs)],
					.config_size =
						sizeof(configs[0]) - (i == N_ELEMENTS(configs)),
					.channel = -1,
					.doors = { -1 } };

		assert_true(mr_relay_main(&netd, confine_nothing, &err) < 0);
		assert_int_equal(err.code, MR_E_PROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_due_goes_first),
		cmocka_unit_test(of_one_time_the_first_come_goes_first),
		cmocka_unit_test(a_full_one_takes_none_and_then_again),
		cmocka_unit_test(what_came_before_is_dropped_and_the_rest_keeps_its_order),
		cmocka_unit_test(a_frame_takes_its_time),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(the_word_to_begin_begins_counts_anew),
		cmocka_unit_test(what_waits_when_it_begins_is_gone),
		cmocka_unit_test(a_seed_gives_one_order),
		cmocka_unit_test(where_there_is_a_rate_jitter_keeps_the_order),
		cmocka_unit_test(a_configuration_without_sense_is_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
