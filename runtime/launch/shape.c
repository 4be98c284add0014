/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shape: the conditions of the sandbox's network link
 *
 * Made from inside, before anything of the payload's is there: what is shaped is the
 * sandbox's own link, never one of the host's.  Without conditions there is not even
 * a netlink socket.
 */
#include <errno.h>

#include "netns/emulate.h"
#include "runtime/base/error.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/net.h"
#include "runtime/spec/spec.h"

enum beside { CUT = 1, WINDOWS = 2 }; /* what the program on the link does beside conditions */

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
	};

	return mr_emulate_apply(&opts, &c->built.built.shape, &c->shape_fds, err);
}

int mr_shape_link(struct mr_child *c, struct mr_error *err)
{
	const uint32_t cutting =
		MR_FAILURE_BIT(MR_FAILURE_network) | MR_FAILURE_BIT(MR_FAILURE_network_partition);
	const bool failing = mr_spec_failures(c->spec) & cutting,
		   breaking = mr_spec_cuts_link(c->spec),
		   cut = mr_spec_has_link(c->spec) && (failing || breaking);
	struct mr_conditions asked;
	uint32_t mask;
	int r;

	mr_spec_conditions(c->spec, &asked);
	mask = mr_conditions_asked(&asked);
	if (!mask && !cut)
		return 0;
	if (mr_spec_has_link(c->spec)) {
		r = shape(c, &asked, (cut ? CUT : 0) | (breaking ? WINDOWS : 0), err);
		/* Whoever is to cut it will find that he cannot, and say so. */
		if (r < 0 && cut && (!failing || mr_spec_tolerates(c->spec, MR_PRESET_FAILURES)) &&
		    (!breaking || mr_spec_tolerates(c->spec, "net")))
			r = mask ? shape(c, &asked, 0, err) : 0;
		return r;
	}
	/* A policy may have taken the network away since the spec was checked. */
	if (!mr_spec_tolerates(c->spec, "net"))
		return mr_err(err, MR_E_USAGE, EINVAL, "%s", MR_SPEC_NO_LINK);
	mr_emulate_nothing(mask, "no link to shape: net.mode is none or host",
			   &c->built.built.shape);
	return 0;
}
