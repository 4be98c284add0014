/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: what is asked of the network link
 *
 * The knobs of section net as conditions of a link, and what no link can be asked for.
 */
#include "runtime/spec/net.h"

#include <errno.h>

#include "netns/netem.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/spec.h"

bool mr_spec_has_link(const struct mr_spec *spec)
{
	return spec->net_mode == MR_NET_LOOPBACK || spec->net_mode == MR_NET_STUB ||
	       spec->net_mode == MR_NET_ALLOWLIST;
}

bool mr_spec_rate_walks(const struct mr_spec *spec)
{
	return spec->net_rate == MR_UNLIMITED && spec->net_rate_min != MR_UNLIMITED &&
	       spec->net_rate_max != MR_UNLIMITED && spec->net_rate_min < spec->net_rate_max;
}

void mr_spec_conditions(const struct mr_spec *spec, struct mr_conditions *ret)
{
#define CONDITION(member, name, ...) ret->member = spec->net_##name;
#include "netns/conditions.def"
#undef CONDITION
	if (mr_spec_rate_walks(spec)) /* where the walk begins */
		ret->rate = spec->net_rate_min + (spec->net_rate_max - spec->net_rate_min) / 2;
	else if (spec->net_rate_max < ret->rate)
		ret->rate = spec->net_rate_max;
}

static int refuse(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		  enum mr_field_id id, const char *why, struct mr_error *err)
{
	const char *name = mr_spec_label(labels, id);

	/* A preset's author knows it by another name. */
	if (spec->origin[id] == MR_ORIGIN_PRESET || spec->origin[id] == MR_ORIGIN_ENVIRONMENT)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s (%s): %s",
			      mr_spec_fields()[id].preset_alias, name, why);
	return mr_err(err, MR_E_USAGE, EINVAL, "%s: %s", name, why);
}

/* The knob of the first condition that asks for something. */
static enum mr_field_id first_asked(const struct mr_spec *spec, uint32_t asked)
{
	static const enum mr_field_id fields[] = {
#define CONDITION(member, name, ...) MR_FIELD_net_##name,
#include "netns/conditions.def"
#undef CONDITION
	};
	const enum mr_field_id id = fields[__builtin_ctz(asked)];

	return id == MR_FIELD_net_rate && spec->net_rate == MR_UNLIMITED ? MR_FIELD_net_rate_max
									 : id;
}

static int check_model(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		       struct mr_error *err)
{
	static const enum mr_field_id parts[] = { MR_FIELD_net_ge_r_percent,
						  MR_FIELD_net_ge_bad_loss_percent,
						  MR_FIELD_net_ge_good_loss_percent };

	for (size_t i = 0; i < N_ELEMENTS(parts); i++)
		if (!spec->net_ge_p_percent &&
		    mr_spec_get(spec, parts[i]) != mr_spec_fields()[parts[i]].default_value)
			return refuse(spec, labels, parts[i],
				      "without net.ge_p_percent this model of loss is not in force",
				      err);
	if (spec->net_rate_max < spec->net_rate_min && spec->net_rate_min != MR_UNLIMITED)
		return refuse(spec, labels, MR_FIELD_net_rate_max, "is under net.rate_min", err);
	return 0;
}

int mr_spec_check_net(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		      struct mr_error *err)
{
	struct mr_conditions conditions;
	uint32_t asked;
	int r;

	mr_spec_conditions(spec, &conditions);
	asked = mr_conditions_asked(&conditions);
	r = check_model(spec, labels, err);
	if (r < 0 || !asked)
		return r;
	r = mr_netem_check(&conditions, err);
	if (r < 0)
		return mr_err_wrap(err, r, "net");
	if (spec->sandbox_level < 2)
		return refuse(spec, labels, first_asked(spec, asked),
			      "level 1 keeps the capability to take it away; accepted: level 2 to "
			      "5",
			      err);
	if (mr_spec_has_link(spec) || mr_spec_tolerates(spec, "net"))
		return 0;
	return refuse(spec, labels, first_asked(spec, asked), MR_SPEC_NO_LINK, err);
}
