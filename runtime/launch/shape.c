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
#include "runtime/spec/net.h"
#include "runtime/spec/spec.h"

int mr_shape_link(struct mr_child *c, struct mr_error *err)
{
	struct mr_conditions asked;
	const struct mr_emulate_opts opts = {
		.asked = &asked,
		.tolerant = mr_spec_tolerates(c->spec, "net"),
		.probe = true,
		.rate_varies = mr_spec_rate_walks(c->spec),
	};
	uint32_t mask;

	mr_spec_conditions(c->spec, &asked);
	mask = mr_conditions_asked(&asked);
	if (!mask)
		return 0;
	if (mr_spec_has_link(c->spec))
		return mr_emulate_apply(&opts, &c->built.built.shape, &c->shape_fds, err);
	/* A policy may have taken the network away since the spec was checked. */
	if (!opts.tolerant)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s", MR_SPEC_NO_LINK);
	mr_emulate_nothing(mask, "no link to shape: net.mode is none or host",
			   &c->built.built.shape);
	return 0;
}
