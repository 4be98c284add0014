/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emulate: a relay that is kept from the processor is waited for, and a kernel that takes nothing back is
 * told
 * kernel
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "netns/emulate.h"
#include "netns/link.h"
#include "netns/relay.h"
#include "netns/tun.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define HELD_UP_MS 3000
#define VERSION 14 /* where the IP version stands, behind the head of an Ethernet */

/* One that plays the relay. */
struct relay {
	int held_up_ms;
	uint8_t flips; /* bits of the version */
	pid_t pid;
};

static _Noreturn void play(const struct relay *relay, int device)
{
	struct pollfd p = { .fd = device, .events = POLLIN };
	uint8_t frame[MR_TUN_FRAME_MAX];

	poll(NULL, 0, relay->held_up_ms);
	for (;;) {
		const ssize_t n = read(device, frame, sizeof(frame));

		if (n < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
		else if (n <= VERSION)
			_exit(1);
		frame[VERSION] ^= relay->flips;
		if (n > 0 && write(device, frame, (size_t)n) < 0 && errno != EINVAL)
			_exit(1);
	}
}

static int serve(void *owner, const struct mr_relay_config *config, int device,
		 struct mr_error *err)
{
	struct relay *relay = owner;

	(void)config;
	relay->pid = fork();
	if (relay->pid == 0)
		play(relay, device);
	return relay->pid < 0 ? mr_err(err, MR_E_SYS, errno, "fork: %m") : 0;
}

struct outcome {
	int r;
	struct mr_error err;
	uint32_t engines, answered;
};

/* In a namespace of its own. */
static struct outcome emulate(struct relay *relay)
{
	struct outcome outcome = { .err = MR_ERROR_INIT };
	struct mr_conditions asked;
	struct mr_emulated emulated = { .engines = 0 };
	struct mr_emulate_fds fds = { -1, -1 };
	const struct mr_emulate_opts opts = {
		.asked = &asked, .probe = true, .may = MR_ENGINE_TUN, .serve = serve, .owner = relay
	};

	mr_conditions_init(&asked);
	asked.latency = 1000;
	outcome.r = unshare(CLONE_NEWNET) < 0 ? mr_err(&outcome.err, MR_E_SYS, errno, "unshare: %m")
					      : mr_link_up("lo", &outcome.err);
	if (outcome.r == 0)
		outcome.r = mr_emulate_apply(&opts, &emulated, &fds, &outcome.err);
	outcome.engines = emulated.engines;
	outcome.answered = emulated.probe.answered;
	if (relay->pid > 0) {
		kill(relay->pid, SIGKILL);
		waitpid(relay->pid, NULL, 0);
	}
	return outcome;
}

static struct outcome emulate_apart(int held_up_ms, uint8_t flips)
{
	struct relay relay = { .held_up_ms = held_up_ms, .flips = flips };
	struct outcome outcome;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		outcome = emulate(&relay);
		_exit(write(ends[1], &outcome, sizeof(outcome)) != sizeof(outcome));
	}
	assert_true(pid > 0);
	close(ends[1]);
	assert_int_equal(read(ends[0], &outcome, sizeof(outcome)), sizeof(outcome));
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return outcome;
}

static void a_relay_that_is_held_up_is_waited_for(void **state)
{
	const struct outcome outcome = emulate_apart(HELD_UP_MS, 0);

	(void)state;
	if (outcome.r < 0)
		fail_msg("%s", outcome.err.msg);
	assert_int_equal(outcome.engines, MR_ENGINE_TUN);
	assert_true(outcome.answered > 0);
}

static void a_kernel_that_takes_nothing_back_is_told(void **state)
{
	const struct outcome outcome = emulate_apart(0, 0xf0);

	(void)state;
	assert_int_equal(outcome.r, -EPROTO);
	assert_int_equal(outcome.err.code, MR_E_KERNEL);
	assert_string_equal(outcome.err.msg,
			    "tun: no packet that was sent over lo comes back to it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_relay_that_is_held_up_is_waited_for),
		cmocka_unit_test(a_kernel_that_takes_nothing_back_is_told),
	};
	mr_auto_close int device = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (geteuid() != 0 || device < 0) {
		printf("SKIP: %s\n", geteuid() != 0 ? "not root" : "no /dev/net/tun");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
