/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the reader of what the kernel dumps of links' queues
 *
 * The input is one datagram of netlink messages; the first byte chooses what a qdisc's options
 * are compared with.  Holds: nothing is read beyond the end (the sanitizer tells), what is
 * refused is refused with words, a kind ends in a NUL, and options that compare equal to those that
 * were built give the conditions that they were built from.
 */
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "netns/netem.h"
#include "netns/qdisc.h"
#include "netns/rate.h"
#include "netns/rtnl.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define SEQ 7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct asked {
	struct mr_conditions conditions;
	struct mr_attrs netem, rate;
	unsigned int equal;
};

static void ask(struct asked *a, uint8_t choice)
{
	struct mr_conditions *c = &a->conditions;

	mr_conditions_init(c);
	c->latency = choice & 1 ? 50000 : 0;
	c->jitter = choice & 2 ? 5000 : 0;
	c->loss = choice & 4 ? 10000 : 0;
	c->ge_p = choice & 8 && !c->loss ? 10000 : 0;
	c->rate = choice & 16 ? 1000000 : c->rate;
	c->seed = choice & 32 ? 5 : c->seed;
	mr_netem_build(c, &a->netem);
	mr_rate_build(1000000, &a->rate);
}

static void compare(struct asked *a, const struct mr_qdisc *qdisc)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_conditions shown;
	uint64_t bits;
	int r = mr_netem_compare(&a->netem, &qdisc->options, &shown, &err);

	mr_assert(r >= 0 || err.msg[0]);
	if (r >= 0) {
		a->equal++;
		mr_assert(shown.latency == a->conditions.latency &&
			  shown.jitter == a->conditions.jitter &&
			  shown.loss == a->conditions.loss && shown.rate == a->conditions.rate);
		/* What follows the options of a model that is off is nobody's. */
		mr_assert(!a->conditions.ge_p || shown.ge_p == a->conditions.ge_p);
	}
	r = mr_rate_compare(&a->rate, &qdisc->options, &bits, &err);
	mr_assert(r == 0 ? bits == 1000000 : err.msg[0] != '\0');
}

static int look(const struct nlmsghdr *message, void *owner, struct mr_error *err)
{
	struct mr_qdisc qdisc;
	int r = mr_qdisc_read(message, &qdisc, err);

	mr_assert(message->nlmsg_len >= NLMSG_HDRLEN);
	if (r != 0)
		return r < 0 ? r : 0;
	mr_assert(memchr(qdisc.kind, '\0', sizeof(qdisc.kind)));
	mr_assert(qdisc.options.n <= sizeof(qdisc.options.bytes));
	compare(owner, &qdisc);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_Alignas(8) char copy[4096];
	struct mr_error err = MR_ERROR_INIT;
	struct asked asked = { .equal = 0 };
	int r;

	if (size == 0 || size > sizeof(copy))
		return 0;
	ask(&asked, data[0]);
	memcpy(copy, data + 1, size - 1);
	r = mr_rtnl_walk(copy, size - 1, SEQ, "fuzz", look, &asked, &err);
	mr_assert(r >= -4095 && r <= 1);
	mr_assert(r >= 0 || strncmp(err.msg, "fuzz: ", 6) == 0 ||
		  strncmp(err.msg, "a qdisc as the kernel shows it", 30) == 0);
	return 0;
}
