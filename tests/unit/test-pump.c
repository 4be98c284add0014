/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pumps, over pipes, sockets, files and terminals
 *
 * The test is the payload and the caller at once: it writes at one end, reads at
 * the other, and turns the loop in between.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/supervise/pump.h"
#include "tests/lib/temptree.h"

#define BIG (1 << 20)
#define PATIENCE_NS 20000000000ULL /* for what is to come, however busy the machine is */

struct fixture {
	struct temptree tree;
	struct mr_loop *loop;
	struct mr_pump_out out;
	struct mr_pump_in in;
	uint64_t progress_bytes;
	unsigned int progress_calls;
	int payload[2]; /* what the payload holds is [1] for output, [0] for input */
	int caller[2]; /* what the caller holds is [0] for output, [1] for input */
	char *bytes; /* BIG of them, no two neighbourhoods alike */
};

static int set_up(void **state)
{
	static struct fixture f;
	struct mr_error err;

	f = (struct fixture){ .payload = { -1, -1 }, .caller = { -1, -1 } };
	temptree_make(&f.tree);
	MUST(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	MUST(f.bytes = malloc(BIG));
	for (uint32_t i = 0, x = 1; i < BIG; i++, x = x * 1103515245 + 12345)
		f.bytes[i] = (char)(x >> 16);
	*state = &f;
	return mr_loop_new(&f.loop, &err);
}

static void drop(int *fd)
{
	*fd = mr_close(*fd);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	mr_pump_out_stop(&f->out);
	mr_capture_deinit(&f->out.capture);
	mr_pump_in_stop(&f->in);
	for (int i = 0; i < 2; i++) {
		drop(&f->payload[i]);
		drop(&f->caller[i]);
	}
	f->loop = mr_loop_free(f->loop);
	free(f->bytes);
	temptree_remove(&f->tree);
	return 0;
}

static void turn(struct fixture *f)
{
	struct mr_error err;

	while (mr_loop_run_once(f->loop, 0, &err) > 0)
		;
}

static void on_progress(struct mr_pump_out *pump, size_t n)
{
	struct fixture *f = pump->owner;

	f->progress_bytes += n;
	f->progress_calls++;
}

/* The pump owns the reading end from now on. */
static void start_out(struct fixture *f, int caller_fd, size_t head, size_t tail)
{
	struct mr_sink_fd sink = { .fd = -1 };
	struct mr_error err;

	if (caller_fd >= 0)
		assert_int_equal(mr_sink_fd_open(caller_fd, &sink, &err), 0);
	assert_int_equal(fcntl(f->payload[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(mr_pump_out_start(&f->out, f->loop, f->payload[0], sink, head, tail,
					   on_progress, f, &err),
			 0);
	f->payload[0] = -1;
}

static void start_pipes(struct fixture *f)
{
	assert_int_equal(pipe2(f->payload, O_CLOEXEC), 0);
	assert_int_equal(pipe2(f->caller, O_CLOEXEC), 0);
	start_out(f, f->caller[1], 100, 100);
}

static void expect_read(int fd, const char *expected, size_t size)
{
	char buf[MR_PUMP_BUF];

	while (size) {
		ssize_t n = read(fd, buf, size < sizeof(buf) ? size : sizeof(buf));

		assert_true(n > 0);
		assert_memory_equal(buf, expected, (size_t)n);
		expected += n;
		size -= (size_t)n;
	}
}

/* Write until the pipe is full; how much that was. */
static size_t write_until_full(struct fixture *f, size_t from)
{
	size_t done = from;
	ssize_t n;

	assert_int_equal(fcntl(f->payload[1], F_SETFL, O_NONBLOCK), 0);
	do {
		n = write(f->payload[1], f->bytes + done, BIG - done < 4096 ? BIG - done : 4096);
		assert_true(n > 0 || errno == EAGAIN);
		done += n > 0 ? (size_t)n : 0;
		turn(f);
	} while (n > 0 && done < BIG);
	return done - from;
}

static void bytes_pass_and_are_kept(void **state)
{
	struct fixture *f = *state;

	start_pipes(f);
	assert_int_equal(write(f->payload[1], f->bytes, 1000), 1000);
	turn(f);
	expect_read(f->caller[0], f->bytes, 1000);
	assert_int_equal(f->progress_bytes, 1000);
	assert_int_equal(mr_capture_total(&f->out.capture), 1000);
	assert_true(mr_capture_truncated(&f->out.capture));
	assert_false(mr_pump_out_done(&f->out));
	drop(&f->payload[1]);
	turn(f);
	assert_true(mr_pump_out_done(&f->out));
	assert_true(f->out.ended);
}

static void end_comes_after_the_last_byte(void **state)
{
	struct fixture *f = *state;

	start_pipes(f);
	assert_int_equal(write(f->payload[1], f->bytes, 60000), 60000);
	drop(&f->payload[1]);
	turn(f);
	assert_true(mr_pump_out_done(&f->out));
	expect_read(f->caller[0], f->bytes, 60000);
}

/* A pipe that hung up stays ready for as long as it is in the loop, which would turn for nothing. */
static void hang_up_behind_a_reader_that_takes_nothing_is_quiet(void **state)
{
	struct fixture *f = *state;
	struct mr_error err;
	size_t written;

	start_pipes(f);
	written = write_until_full(f, 0);
	drop(&f->payload[1]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(mr_loop_run_once(f->loop, 0, &err), 0);
	expect_read(f->caller[0], f->bytes, 65536);
	turn(f);
	expect_read(f->caller[0], f->bytes + 65536,
		    written - 65536 < 65536 ? written - 65536 : 65536);
	turn(f);
	assert_false(f->out.lost);
}

static void what_nobody_takes_is_dropped_and_counted(void **state)
{
	struct fixture *f = *state;

	start_pipes(f);
	write_until_full(f, 0);
	mr_pump_out_drop(&f->out);
	assert_true(f->out.lost);
	assert_true(mr_capture_truncated(&f->out.capture));
	assert_true(mr_pump_out_done(&f->out));
}

static void no_more_is_passed_on_than_allowed(void **state)
{
	struct fixture *f = *state;
	uint64_t may_pass = 1000;

	start_pipes(f);
	f->out.may_pass = &may_pass;
	assert_int_equal(write(f->payload[1], f->bytes, 600), 600);
	turn(f);
	assert_int_equal(may_pass, 400);
	assert_int_equal(write(f->payload[1], f->bytes + 600, 600), 600);
	turn(f);
	assert_int_equal(write(f->payload[1], f->bytes, 600), 600);
	drop(&f->payload[1]);
	turn(f);
	drop(&f->caller[1]);
	mr_sink_fd_close(&f->out.sink);
	expect_read(f->caller[0], f->bytes, 1000);
	assert_int_equal(read(f->caller[0], f->bytes, 1), 0);
	assert_int_equal(mr_capture_total(&f->out.capture), 1800);
	assert_true(mr_capture_truncated(&f->out.capture));
}

static void slow_reader_stops_the_payload_and_loses_nothing(void **state)
{
	struct fixture *f = *state;
	size_t written, got = 0;

	start_pipes(f);
	written = write_until_full(f, 0);
	/* two pipes and one buffer, nothing without bound */
	assert_true(written < BIG);
	assert_true(written <= 3 * 65536);
	while (got < BIG) {
		char buf[10000];
		ssize_t n = read(f->caller[0], buf, sizeof(buf));

		assert_true(n > 0);
		assert_memory_equal(buf, f->bytes + got, (size_t)n);
		got += (size_t)n;
		turn(f);
		if (written < BIG)
			written += write_until_full(f, written);
	}
	assert_int_equal(mr_capture_total(&f->out.capture), BIG);
}

static void reader_that_is_gone_closes_the_payloads_pipe(void **state)
{
	struct fixture *f = *state;

	start_pipes(f);
	drop(&f->caller[0]);
	assert_int_equal(write(f->payload[1], "x", 1), 1);
	turn(f);
	assert_true(mr_pump_out_done(&f->out));
	assert_int_equal(write(f->payload[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(mr_capture_total(&f->out.capture), 1);
}

static void reader_that_goes_while_bytes_wait(void **state)
{
	struct fixture *f = *state;

	start_pipes(f);
	write_until_full(f, 0);
	assert_true(f->out.pending_end > 0);
	drop(&f->caller[0]);
	drop(&f->caller[1]);
	turn(f);
	assert_true(mr_pump_out_done(&f->out));
	assert_int_equal(write(f->payload[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
}

static void cut_keeps_what_was_written_before(void **state)
{
	struct fixture *f = *state;

	start_pipes(f);
	assert_int_equal(write(f->payload[1], f->bytes, 5000), 5000);
	mr_pump_out_cut(&f->out);
	/* The holder goes on writing: that is none of ours any more. */
	assert_int_equal(write(f->payload[1], f->bytes + 5000, 5000), 5000);
	turn(f);
	assert_true(mr_pump_out_done(&f->out));
	assert_int_equal(mr_capture_total(&f->out.capture), 5000);
	expect_read(f->caller[0], f->bytes, 5000);
}

static void cut_of_an_empty_pipe_ends_at_once(void **state)
{
	struct fixture *f = *state;

	start_pipes(f);
	turn(f);
	mr_pump_out_cut(&f->out);
	assert_true(mr_pump_out_done(&f->out));
	mr_pump_out_cut(&f->out);
}

static void cut_waits_for_a_slow_reader(void **state)
{
	struct fixture *f = *state;
	size_t written;

	start_pipes(f);
	written = write_until_full(f, 0);
	mr_pump_out_cut(&f->out);
	turn(f);
	assert_false(mr_pump_out_done(&f->out));
	for (size_t got = 0; got < written; got += 4096) {
		expect_read(f->caller[0], f->bytes + got, 4096);
		turn(f);
	}
	assert_true(mr_pump_out_done(&f->out));
	assert_int_equal(mr_capture_total(&f->out.capture), written);
}

static void stop_drops_what_waits(void **state)
{
	struct fixture *f = *state;

	start_pipes(f);
	write_until_full(f, 0);
	mr_pump_out_stop(&f->out);
	assert_true(mr_pump_out_done(&f->out));
	mr_pump_out_stop(&f->out);
	turn(f);
}

static void without_a_sink_all_is_kept(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(pipe2(f->payload, O_CLOEXEC), 0);
	start_out(f, -1, BIG, 0);
	for (size_t at = 0; at < BIG; at += 65536) {
		assert_int_equal(write(f->payload[1], f->bytes + at, 65536), 65536);
		turn(f);
	}
	assert_int_equal(mr_capture_total(&f->out.capture), BIG);
	assert_false(mr_capture_truncated(&f->out.capture));
	assert_memory_equal(f->out.capture.head.buf, f->bytes, BIG);
}

static void sink_that_is_a_socket(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(pipe2(f->payload, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->caller), 0);
	start_out(f, f->caller[1], 0, 0);
	assert_true(f->out.sink.socket);
	write_until_full(f, 0);
	assert_true(f->out.pending_end > 0);
	expect_read(f->caller[0], f->bytes, 65536);
	drop(&f->caller[0]);
	turn(f);
	assert_true(mr_pump_out_done(&f->out));
}

static void sink_that_is_a_file(void **state)
{
	struct fixture *f = *state;
	int fd = openat(f->tree.fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "before", 6), 6);
	assert_int_equal(pipe2(f->payload, O_CLOEXEC), 0);
	start_out(f, fd, 0, 0);
	assert_int_equal(write(f->payload[1], f->bytes, 65536), 65536);
	drop(&f->payload[1]);
	turn(f);
	assert_true(mr_pump_out_done(&f->out));
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 6 + 65536);
	assert_int_equal(lseek(fd, 6, SEEK_SET), 6);
	expect_read(fd, f->bytes, 65536);
	close(fd);
}

static void sink_that_is_full(void **state)
{
	struct fixture *f = *state;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pipe2(f->payload, O_CLOEXEC), 0);
	start_out(f, fd, 0, 0);
	close(fd);
	assert_int_equal(write(f->payload[1], "x", 1), 1);
	turn(f);
	assert_true(mr_pump_out_done(&f->out));
}

static void sink_of_no_kind_is_refused(void **state)
{
	struct fixture *f = *state;
	struct mr_sink_fd sink;
	struct mr_error err = MR_ERROR_INIT;

	assert_int_equal(mr_sink_fd_open(f->tree.fd, &sink, &err), -EISDIR);
	assert_non_null(strstr(err.msg, "is a directory"));
	assert_int_equal(sink.fd, -1);
	assert_int_equal(mr_sink_fd_open(9999, &sink, &err), 0);
	assert_int_equal(sink.fd, -1);
}

/* Others share the caller's description: a flag set there would hit them. */
static void flags_of_the_caller_stay(void **state)
{
	struct fixture *f = *state;
	int before;

	assert_int_equal(pipe2(f->caller, O_CLOEXEC), 0);
	before = fcntl(f->caller[1], F_GETFL);
	assert_int_equal(pipe2(f->payload, O_CLOEXEC), 0);
	start_out(f, f->caller[1], 0, 0);
	assert_true(f->out.sink.own);
	assert_true(fcntl(f->out.sink.fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fcntl(f->caller[1], F_GETFL), before);
	mr_pump_out_stop(&f->out);
	assert_int_equal(fcntl(f->caller[1], F_GETFL), before);
}

/* A terminal's master in [0], its other side raw in [1]. */
static void open_terminal(int fds[2])
{
	struct termios raw;

	fds[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(fds[0] >= 0);
	assert_int_equal(grantpt(fds[0]), 0);
	assert_int_equal(unlockpt(fds[0]), 0);
	fds[1] = open(ptsname(fds[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(fds[1] >= 0);
	assert_int_equal(tcgetattr(fds[1], &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(fds[1], TCSANOW, &raw), 0);
}

/* A terminal hands bytes over in the background: wait for them. */
static void turn_until(struct fixture *f, const bool *ended, uint64_t total)
{
	uint64_t end = mr_now_ns() + PATIENCE_NS;
	struct mr_error err;

	while (!*ended && f->progress_bytes < total && mr_now_ns() < end)
		mr_loop_run_once(f->loop, 10, &err);
}

static void terminal_is_read_until_its_last_holder_goes(void **state)
{
	struct fixture *f = *state;

	open_terminal(f->payload);
	start_out(f, -1, 4096, 0);
	assert_int_equal(write(f->payload[1], f->bytes, 3000), 3000);
	turn_until(f, &f->out.ended, 3000);
	assert_int_equal(mr_capture_total(&f->out.capture), 3000);
	assert_memory_equal(f->out.capture.head.buf, f->bytes, 3000);
	assert_false(f->out.ended);
	drop(&f->payload[1]);
	turn_until(f, &f->out.ended, UINT64_MAX);
	assert_true(mr_pump_out_done(&f->out));
}

static void end_of_input_is_typed_into_a_terminal(void **state)
{
	struct fixture *f = *state;
	struct mr_error err;
	int terminal[2];
	char buf[16];

	open_terminal(terminal);
	/* As in a run, where its output is read from another descriptor: closing the last hangs up. */
	f->payload[0] = fcntl(terminal[0], F_DUPFD_CLOEXEC, 3);
	assert_true(f->payload[0] >= 0);
	assert_int_equal(fcntl(terminal[0], F_SETFL, O_NONBLOCK), 0);
	temptree_file(f->tree.fd, "input", "typed");
	f->caller[1] = openat(f->tree.fd, "input", O_RDONLY | O_CLOEXEC);
	assert_int_equal(mr_pump_in_start(&f->in, f->loop, f->caller[1], false, terminal[0], true,
					  &err),
			 0);
	for (uint64_t end = mr_now_ns() + PATIENCE_NS; !f->in.ended && mr_now_ns() < end;)
		mr_loop_run_once(f->loop, 10, &err);
	assert_true(f->in.ended);
	for (size_t got = 0; got < 6;) {
		ssize_t n = read(terminal[1], buf + got, sizeof(buf) - got);

		assert_true(n > 0);
		got += (size_t)n;
	}
	assert_memory_equal(buf, "typed\004", 6);
	close(terminal[1]);
}

/* --- input ----------------------------------------------------------------------- */

static void start_in(struct fixture *f, bool own)
{
	struct mr_error err;

	assert_int_equal(pipe2(f->payload, O_CLOEXEC), 0);
	assert_int_equal(fcntl(f->payload[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(mr_pump_in_start(&f->in, f->loop, f->caller[0], own, f->payload[1], false,
					  &err),
			 0);
	f->payload[1] = -1;
}

/* A file of 200000 bytes as the caller's input, read from `at`. */
static void start_in_from_file(struct fixture *f, off_t at)
{
	f->caller[0] = openat(f->tree.fd, "input", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(f->caller[0] >= 0);
	assert_int_equal(write(f->caller[0], f->bytes, 200000), 200000);
	assert_int_equal(lseek(f->caller[0], at, SEEK_SET), at);
	start_in(f, false);
}

static void expect_offset_after_stop(struct fixture *f, off_t expected)
{
	mr_pump_in_stop(&f->in);
	assert_int_equal(lseek(f->caller[0], 0, SEEK_CUR), expected);
}

static void file_is_fed_to_its_end(void **state)
{
	struct fixture *f = *state;
	size_t got = 0;
	char byte;

	start_in_from_file(f, 0);
	while (got < 200000) {
		turn(f);
		expect_read(f->payload[0], f->bytes + got, 8000);
		got += 8000;
	}
	turn(f);
	assert_int_equal(read(f->payload[0], &byte, 1), 0);
	expect_offset_after_stop(f, 200000);
}

static void unread_bytes_of_a_file_go_back(void **state)
{
	struct fixture *f = *state;

	start_in_from_file(f, 7);
	turn(f);
	expect_read(f->payload[0], f->bytes + 7, 123);
	turn(f);
	expect_offset_after_stop(f, 130);
}

static void file_that_nobody_read_is_where_it_was(void **state)
{
	struct fixture *f = *state;

	start_in_from_file(f, 100);
	turn(f);
	expect_offset_after_stop(f, 100);
}

static void payload_that_closed_its_input_gives_back_too(void **state)
{
	struct fixture *f = *state;

	start_in_from_file(f, 0);
	turn(f);
	expect_read(f->payload[0], f->bytes, 1000);
	drop(&f->payload[0]);
	turn(f);
	assert_true(f->in.ended);
	expect_offset_after_stop(f, 1000);
}

/* The whole file fits the pipe: it ends for us long before the payload has read it. */
static void short_file_read_after_its_end_is_read(void **state)
{
	struct fixture *f = *state;

	start_in_from_file(f, 190000);
	turn(f);
	assert_true(f->in.ended);
	expect_read(f->payload[0], f->bytes + 190000, 9000);
	expect_offset_after_stop(f, 199000);
}

static void file_of_ours_is_closed(void **state)
{
	struct fixture *f = *state;
	int fd;

	temptree_file(f->tree.fd, "input", "x");
	f->caller[0] = fd = openat(f->tree.fd, "input", O_RDONLY | O_CLOEXEC);
	start_in(f, true);
	f->caller[0] = -1;
	mr_pump_in_stop(&f->in);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void pipe_is_fed_as_it_comes(void **state)
{
	struct fixture *f = *state;
	char byte;

	assert_int_equal(pipe2(f->caller, O_CLOEXEC), 0);
	start_in(f, false);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(write(f->caller[1], f->bytes, 777), 777);
		turn(f);
		expect_read(f->payload[0], f->bytes, 777);
	}
	drop(&f->caller[1]);
	turn(f);
	assert_int_equal(read(f->payload[0], &byte, 1), 0);
}

static void payload_that_closed_its_input_ends_the_feed(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(pipe2(f->caller, O_CLOEXEC), 0);
	start_in(f, false);
	turn(f);
	drop(&f->payload[0]);
	turn(f);
	assert_true(f->in.ended);
	mr_pump_in_stop(&f->in);
	mr_pump_in_stop(&f->in);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_pass_and_are_kept),
		TEST(end_comes_after_the_last_byte),
		TEST(hang_up_behind_a_reader_that_takes_nothing_is_quiet),
		TEST(what_nobody_takes_is_dropped_and_counted),
		TEST(no_more_is_passed_on_than_allowed),
		TEST(slow_reader_stops_the_payload_and_loses_nothing),
		TEST(reader_that_is_gone_closes_the_payloads_pipe),
		TEST(reader_that_goes_while_bytes_wait),
		TEST(cut_keeps_what_was_written_before),
		TEST(cut_of_an_empty_pipe_ends_at_once),
		TEST(cut_waits_for_a_slow_reader),
		TEST(stop_drops_what_waits),
		TEST(without_a_sink_all_is_kept),
		TEST(sink_that_is_a_socket),
		TEST(sink_that_is_a_file),
		TEST(sink_that_is_full),
		TEST(sink_of_no_kind_is_refused),
		TEST(flags_of_the_caller_stay),
		TEST(terminal_is_read_until_its_last_holder_goes),
		TEST(end_of_input_is_typed_into_a_terminal),
		TEST(file_is_fed_to_its_end),
		TEST(unread_bytes_of_a_file_go_back),
		TEST(file_that_nobody_read_is_where_it_was),
		TEST(payload_that_closed_its_input_gives_back_too),
		TEST(short_file_read_after_its_end_is_read),
		TEST(file_of_ours_is_closed),
		TEST(pipe_is_fed_as_it_comes),
		TEST(payload_that_closed_its_input_ends_the_feed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
