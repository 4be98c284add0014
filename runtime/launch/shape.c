/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shape: the conditions of the sandbox's network link
 *
 * Made from inside, before anything of the payload's is there: what is shaped is the
 * sandbox's own link, never one of the host's.  Without conditions there is not even
 * a netlink socket.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netns/emulate.h"
#include "netns/relay.h"
#include "runtime/base/error.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/net.h"
#include "runtime/spec/spec.h"

enum beside { CUT = 1, WINDOWS = 2 }; /* what the program on the link does beside conditions */

/* What delays packets must outlive us and be none of the sandbox's: the supervisor starts it. */
static int ask_for_relay(void *owner, const struct mr_relay_config *config, int device,
			 struct mr_error *err)
{
	const struct mr_child *c = owner;
	struct mr_sync_msg msg = { .type = MR_SYNC_RELAY, .fds = MR_SYNC_FD_DEVICE };
	int fds[8], r;

	msg.relay = *config;
	r = mr_sync_send(c->sync_fd, &msg, &device, 1);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "ask for the relay: %m");
	r = mr_sync_recv(c->sync_fd, &msg, 0, fds, NULL, err);
	if (r == 0)
		_exit(125); /* the supervisor died */
	if (r > 0 && msg.type != MR_SYNC_SERVED)
		return mr_err(err, MR_E_PROTO, EPROTO, "message %u instead of the relay", msg.type);
	return r < 0 ? r : 0;
}

static uint32_t engines_of(const struct mr_spec *spec)
{
	static const uint32_t engines[] = {
		[MR_ENGINE_WISH_AUTO] = MR_ENGINE_NETEM | MR_ENGINE_TUN,
		[MR_ENGINE_WISH_NETEM] = MR_ENGINE_NETEM,
		[MR_ENGINE_WISH_TUN] = MR_ENGINE_TUN,
		[MR_ENGINE_WISH_BPF] = 0,
	};

	return engines[spec->net_engine];
}

static int shape(struct mr_child *c, const struct mr_conditions *asked, unsigned int beside,
		 struct mr_error *err)
{
	const struct mr_emulate_opts opts = {
		.asked = asked,
		.tolerant = mr_spec_tolerates(c->spec, "net"),
		.probe = true,
		.cut = beside & CUT,
		.windows = beside & WINDOWS,
		.rate_varies = mr_spec_rate_walks(c->spec),
		.may = engines_of(c->spec),
		.serve = ask_for_relay,
		.owner = c,
	};

	return mr_emulate_apply(&opts, &c->built.built.shape, &c->shape_fds, err);
}

static bool has_failures_of_link(const struct mr_spec *spec)
{
	return mr_spec_failures(spec) &
	       (MR_FAILURE_BIT(MR_FAILURE_network) | MR_FAILURE_BIT(MR_FAILURE_network_partition));
}

/* Which of those the run is about. */
static unsigned int wanted_beside(const struct mr_spec *spec)
{
	if (!mr_spec_has_link(spec))
		return 0;
	if (mr_spec_cuts_link(spec))
		return CUT | WINDOWS;
	return has_failures_of_link(spec) ? CUT : 0;
}

/* May the run go on without them? */
static bool are_tolerated(const struct mr_spec *spec)
{
	return (!has_failures_of_link(spec) || mr_spec_tolerates(spec, MR_PRESET_FAILURES)) &&
	       (!mr_spec_cuts_link(spec) || mr_spec_tolerates(spec, "net"));
}

/* What they could not be made for goes on: to whoever is to cut, and beside what else fails. */
static int shape_without(struct mr_child *c, const struct mr_conditions *asked,
			 struct mr_error *err)
{
	const struct mr_error first = *err;
	int r = 0;

	if (mr_conditions_asked(asked))
		r = shape(c, asked, 0, err);
	if (r < 0 && strcmp(err->msg, first.msg) != 0)
		return mr_err_wrap(err, r, "with the program that cuts: %.240s; without it",
				   first.msg);
	if (r == 0)
		snprintf(c->built.built.shape.no_cut, sizeof(c->built.built.shape.no_cut), "%.119s",
			 first.msg);
	return r;
}

int mr_shape_link(struct mr_child *c, struct mr_error *err)
{
	const unsigned int beside = wanted_beside(c->spec);
	struct mr_conditions asked;
	uint32_t mask;
	int r;

	mr_spec_conditions(c->spec, &asked);
	mask = mr_conditions_asked(&asked);
	if (!mask && !beside)
		return 0;
	if (mr_spec_has_link(c->spec)) {
		r = shape(c, &asked, beside, err);
		return r < 0 && beside && are_tolerated(c->spec) ? shape_without(c, &asked, err)
								 : r;
	}
	/* A policy may have taken the network away since the spec was checked. */
	if (!mr_spec_tolerates(c->spec, "net"))
		return mr_err(err, MR_E_USAGE, EINVAL, "%s", MR_SPEC_NO_LINK);
	mr_emulate_nothing(mask, "no link to shape: net.mode is none or host",
			   &c->built.built.shape);
	return 0;
}
