/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate: --net allowlist, the supervisor's side
 */
#include <stdlib.h>
#include <string.h>

#include "netns/gate.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/notify.h"
#include "runtime/supervise/state.h"

struct gate {
	uint64_t denied[MR_GATE_REASONS_];
};

static int begin(struct mr_run *run, char **ret_config, struct mr_error *err)
{
	(void)err;
	run->network->state = mr_str_alloc(sizeof(struct gate));
	*ret_config = mr_str_dup("{}");
	return 0;
}

static int verify(struct mr_run *run, struct mr_error *err)
{
	(void)run;
	(void)err;
	return 0;
}

static void take_denied(struct mr_run *run, const struct mr_gate_denied *d)
{
	struct gate *gate = run->network->state;
	const struct mr_gate_reason_row *row;
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
				   .sin6_port = htons(d->port),
				   .sin6_addr = d->address };
	struct mr_denial denial = { .layer = MR_DENIAL_NETWORK, .time_ns = mr_now_ns() };
	char text[80];

	if (d->reason >= MR_GATE_REASONS_)
		return;
	gate->denied[d->reason]++;
	row = mr_gate_reason(d->reason);
	mr_notify_format_address(&to, sizeof(to), text, sizeof(text));
	denial.what = row->what;
	denial.rule = row->rule;
	denial.reason = row->help;
	denial.object = text;
	mr_denials_add(&run->denials, &denial);
}

static void on_message(struct mr_run *run, const struct mr_netd_head *head)
{
	if (head->type == MR_GATE_DENIED && head->size == sizeof(struct mr_gate_denied))
		take_denied(run, (const struct mr_gate_denied *)head);
}

static void finish(struct mr_run *run)
{
	(void)run;
}

static json_t *to_json(const struct mr_run *run)
{
	(void)run;
	return json_object();
}

static void free_state(struct mr_run *run)
{
	free(run->network->state);
}

static const struct mr_anyip_prefix everything[] = { { .family = AF_INET },
						     { .family = AF_INET6 } };

const struct mr_network_mode mr_gate_mode = {
	.net_mode = MR_NET_ALLOWLIST,
	.name = "allowlist",
	.prefixes = everything,
	.n_prefixes = N_ELEMENTS(everything),
	.begin = begin,
	.verify = verify,
	.on_message = on_message,
	.finish = finish,
	.to_json = to_json,
	.receipt = to_json,
	.free = free_state,
};
