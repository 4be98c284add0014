/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults
 *
 * Three things stand beside each other and never for each other: what was requested, what was read
 * back of whoever makes it, and what it met.  The times of what passed before, within and after it are
 * the only proof of when it was in force, so a fault that nothing met says that.
 */
#include "runtime/supervise/faults.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netns/drop.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/net.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/state.h"

#define WHOLE 128 /* bits of an address */
#define IPV4_WITHIN 96 /* where an IPv4 address begins in one */

static bool tolerates(const struct mr_run *run)
{
	return mr_spec_tolerates(run->spec, "net");
}

/* --- the program on the link ------------------------------------------------------------ */

/* What a rule without a host is not about: what never leaves a host's own loopback. */
static unsigned int spared(const struct mr_run *run, const struct mr_outage *outage)
{
	if (run->spec->net_mode == MR_NET_LOOPBACK)
		return 0;
	return MR_DROP_RULE_NOT_OWN |
	       (outage->kind == MR_OUTAGE_partition ? MR_DROP_RULE_NOT_RESOLVER : 0);
}

static int add_rule(struct mr_run *run, const struct mr_drop_rule_opts *opts, struct mr_error *err)
{
	if (mr_drop_add_rule(run->faults.link, opts))
		return 0;
	return mr_err(err, MR_E_BUSY, ENOSPC,
		      "fault %u of the network: no room for another address; accepted: at most %d "
		      "of all faults together",
		      opts->window, MR_DROP_RULES);
}

static int add_address(struct mr_run *run, unsigned int window, const struct in6_addr *address,
		       uint16_t port, struct mr_error *err)
{
	const struct mr_drop_rule_opts opts = {
		.window = window, .address = address, .length = WHOLE, .port = port
	};

	return add_rule(run, &opts, err);
}

static int add_both(struct mr_run *run, unsigned int window, const char *host, uint16_t port,
		    struct mr_error *err)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct in6_addr address;
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(families); i++)
		if (mr_mocks_address(&run->spec->mocks, host, families[i], &address))
			r = add_address(run, window, &address, port, err);
	return r;
}

/* A host of several mocks takes its room once. */
static bool was_before(const struct mr_mocks *mocks, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(mocks->v[j].host, mocks->v[i].host) == 0)
			return true;
	return false;
}

/* The addresses of the mocks that have such a name. */
static int add_mocked(struct mr_run *run, unsigned int window, const struct mr_rule *rule,
		      struct mr_error *err)
{
	const struct mr_mocks *mocks = &run->spec->mocks;
	int r = 0;

	for (size_t i = 0; r == 0 && i < mocks->n; i++) {
		if (mr_rule_holds_name(rule, mocks->v[i].host) && !was_before(mocks, i))
			r = add_both(run, window, mocks->v[i].host, rule->port, err);
	}
	return r;
}

static int add_host(struct mr_run *run, unsigned int window, const struct mr_outage_host *host,
		    struct mr_error *err)
{
	const struct mr_rule *rule = &host->rule;
	const struct mr_drop_rule_opts opts = {
		.window = window,
		.address = host->any ? &in6addr_any : &rule->address,
		.length = host->any ? 0 : rule->length,
		.port = rule->port,
		.flags = host->any		      ? spared(run, &run->faults.v[window])
			 : rule->length < IPV4_WITHIN ? MR_DROP_RULE_IPV6
						      : 0,
	};

	if (host->any || rule->kind == MR_RULE_ADDRESS)
		return add_rule(run, &opts, err);
	/* With --net allowlist a name leads nowhere until the resolver has learned where. */
	return run->spec->net_mode == MR_NET_STUB ? add_mocked(run, window, rule, err) : 0;
}

static int open_link(struct mr_run *run, struct mr_error *err)
{
	int r;

	if (run->faults.link)
		return 0;
	r = mr_shaping_check_cut(run, err);
	if (r < 0)
		return r;
	run->faults.link = mr_drop_map(run->shaping.drop_map, err);
	return run->faults.link ? 0 : -err->errnum;
}

static int put_on_link(struct mr_run *run, unsigned int i, struct mr_error *err)
{
	static const struct mr_outage_host all = { .any = true };
	const struct mr_outage *outage = &run->faults.v[i];
	struct mr_drop_window *window;
	int r = open_link(run, err);

	if (r < 0)
		return r;
	window = &run->faults.link->windows[i];
	*window = (struct mr_drop_window){
		.from_ns = outage->from_ms * 1000000,
		.to_ns = outage->to_ms == MR_OUTAGE_NO_END ? MR_DROP_NO_END
							   : outage->to_ms * 1000000,
		.act = outage->kind == MR_OUTAGE_refuse ? MR_DROP_REFUSE : MR_DROP_LOSE,
	};
	if (outage->n_hosts == 0)
		r = add_host(run, i, &all, err);
	for (size_t j = 0; r == 0 && j < outage->n_hosts; j++)
		r = add_host(run, i, &outage->hosts[j], err);
	if (r < 0) /* as if it were none: not a part of it */
		window->act = 0;
	return r;
}

/* --- the life --------------------------------------------------------------------------- */

static int put(struct mr_run *run, unsigned int i, struct mr_error *err)
{
	const struct mr_outage *outage = &run->faults.v[i];
	const char *why = mr_spec_outage_hindrance(run->spec, outage);

	if (why)
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP, "%s", why);
	if (!mr_outage_is_of_names(outage))
		return put_on_link(run, i, err);
	/* menace-netd has had them all from its configuration before it was ready. */
	return run->network ? 0 : mr_err(err, MR_E_KERNEL, EOPNOTSUPP, "nobody answers questions");
}

int mr_faults_prepare(struct mr_run *run, struct mr_error *err)
{
	struct mr_faults *faults = &run->faults;
	const char *left_out = NULL;

	if (run->spec->net_faults.n == 0)
		return 0;
	faults->n = mr_spec_outages(run->spec, &faults->v);
	faults->applied = mr_str_alloc(faults->n * sizeof(*faults->applied));
	for (unsigned int i = 0; i < faults->n; i++) {
		struct mr_fault_applied *applied = &faults->applied[i];
		int r = put(run, i, err);

		applied->made = r == 0;
		if (r == 0)
			continue;
		if (!tolerates(run))
			return mr_err_wrap(err, r, "net.faults[%u] (%.100s)", i,
					   run->spec->net_faults.v[i]);
		snprintf(applied->why, sizeof(applied->why), "%.290s", err->msg);
		left_out = left_out ? left_out : run->spec->net_faults.v[i];
	}
	if (left_out)
		mr_receipt_degrade(&run->receipt, "net",
				   "%.100s is not made (\"faults\" says why, and of all)",
				   left_out);
	if (faults->link)
		__atomic_store_n(&faults->link->n_windows, (uint32_t)faults->n, __ATOMIC_RELEASE);
	return 0;
}

static bool is_any_of_names(const struct mr_faults *faults)
{
	for (size_t i = 0; i < faults->n; i++)
		if (faults->applied[i].made && mr_outage_is_of_names(&faults->v[i]))
			return true;
	return false;
}

/* The program on the link knows no clock but CLOCK_MONOTONIC, which stands still while a host is
 * suspended: the two may be days apart. */
static uint64_t to_monotonic(uint64_t boot_ns)
{
	const uint64_t now = mr_clock_ns(MR_CLOCK_MONOTONIC);

	return now - (mr_now_ns() - boot_ns);
}

int mr_faults_begin(struct mr_run *run, struct mr_error *err)
{
	const struct mr_netd_begin begin = {
		.head = { .type = MR_NETD_BEGIN, .size = sizeof(begin) },
		.begin_ns = run->go_ns,
	};

	if (run->faults.link)
		__atomic_store_n(&run->faults.link->begin_ns, to_monotonic(run->go_ns),
				 __ATOMIC_RELEASE);
	if (is_any_of_names(&run->faults) && !mr_netd_send(&run->network->netd, &begin.head))
		return mr_err(err, MR_E_SYS, EPIPE,
			      MR_NETD_PROGRAM " cannot be told when its faults begin");
	return 0;
}

static int learn(struct mr_run *run, unsigned int i, const char *name,
		 const struct in6_addr *address, struct mr_error *err)
{
	const struct mr_outage *outage = &run->faults.v[i];
	int r = 0;

	for (size_t j = 0; r == 0 && j < outage->n_hosts; j++)
		if (!outage->hosts[j].any && mr_rule_holds_name(&outage->hosts[j].rule, name))
			r = add_address(run, i, address, outage->hosts[j].rule.port, err);
	return r;
}

/* The program decides how often it comes to this. */
static void tell_short_of_room(struct mr_run *run, unsigned int i, const struct mr_error *err)
{
	struct mr_faults *faults = &run->faults;
	struct mr_fault_applied *applied = &faults->applied[i];

	if (!applied->why[0])
		snprintf(applied->why, sizeof(applied->why), "%.150s", err->msg);
	if (!faults->short_of_room)
		mr_receipt_degrade(&run->receipt, "net", "%.150s (\"faults\" says of which)",
				   err->msg);
	faults->short_of_room = true;
}

void mr_faults_learn(struct mr_run *run, const char *name, const struct in6_addr *address)
{
	struct mr_faults *faults = &run->faults;
	struct mr_error err = MR_ERROR_INIT;

	for (unsigned int i = 0; faults->link && i < faults->n; i++) {
		if (!faults->applied[i].made || mr_outage_is_of_names(&faults->v[i]) ||
		    learn(run, i, name, address, &err) == 0)
			continue;
		/* What is reached from here on would be what was to be cut off. */
		if (!tolerates(run)) {
			mr_run_fail(run, &err);
			return;
		}
		tell_short_of_room(run, i, &err);
	}
}

/* --- the end ---------------------------------------------------------------------------- */

static void count_link(struct mr_faults *faults, size_t i)
{
	const struct mr_drop_window *window = &faults->link->windows[i];
	struct mr_fault_applied *applied = &faults->applied[i];

	applied->met = window->met;
	applied->from_ms = window->from_ns / 1000000;
	applied->to_ms =
		window->to_ns == MR_DROP_NO_END ? MR_OUTAGE_NO_END : window->to_ns / 1000000;
	applied->counted = true;
}

static void count_names(const struct mr_run *run, struct mr_faults *faults, size_t i)
{
	const struct mr_netd_run *netd = run->network ? &run->network->netd : NULL;
	const struct mr_netd_window *window = netd ? mr_netd_window(netd, i) : NULL;
	const struct mr_error *end = netd ? mr_netd_end(netd) : NULL;
	struct mr_fault_applied *applied = &faults->applied[i];

	if (!window) {
		snprintf(applied->why, sizeof(applied->why), "what it met was not told: %.150s",
			 end ? end->msg : MR_NETD_PROGRAM " ended before");
		return;
	}
	applied->met = window->met;
	applied->from_ms = window->from_ms;
	applied->to_ms = window->to_ms;
	applied->counted = true;
}

void mr_faults_collect(struct mr_run *run)
{
	struct mr_faults *faults = &run->faults;

	for (size_t i = 0; i < faults->n; i++) {
		if (!faults->applied[i].made)
			continue;
		if (mr_outage_is_of_names(&faults->v[i]))
			count_names(run, faults, i);
		else
			count_link(faults, i);
	}
	if (faults->link)
		faults->rules = faults->link->n_rules;
	faults->link = mr_drop_unmap(faults->link);
}

void mr_faults_free(struct mr_run *run)
{
	struct mr_faults *faults = &run->faults;

	mr_drop_unmap(faults->link);
	free(faults->v);
	free(faults->applied);
	*faults = (struct mr_faults){ 0 };
}

/* --- the result ------------------------------------------------------------------------- */

static json_t *time_json(uint64_t ns)
{
	const uint64_t us = ns / 1000;

	return ns ? json_real((double)us / 1000) : json_null();
}

static json_t *met_json(const struct mr_fault_applied *applied)
{
	const struct mr_drop_met *met = &applied->met;

	if (!applied->counted)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "before",
			 (json_int_t)met->before, "within", (json_int_t)met->within, "taken",
			 (json_int_t)met->taken, "after", (json_int_t)met->after, "last_before_ms",
			 time_json(met->last_before_ns), "first_taken_ms",
			 time_json(met->first_taken_ns), "last_taken_ms",
			 time_json(met->last_taken_ns), "first_after_ms",
			 time_json(met->first_after_ns));
}

static const char *state_of(const struct mr_run *run, size_t i)
{
	const struct mr_fault_applied *applied = &run->faults.applied[i];
	const uint64_t from_ns = run->faults.v[i].from_ms * 1000000;

	if (!applied->made)
		return "not_made";
	if (!applied->counted || !run->go_ns || !run->end_ns)
		return "unknown";
	if (applied->met.within == 0)
		return run->end_ns - run->go_ns <= from_ns ? "not_reached" : "no_opportunity";
	return applied->met.taken ? "taken" : "taken_by_others";
}

static json_t *applied_json(const struct mr_run *run, size_t i)
{
	const struct mr_fault_applied *applied = &run->faults.applied[i];

	if (!applied->counted)
		return json_null();
	return json_pack("{s:s, s:I, s:o}", "by",
			 mr_outage_is_of_names(&run->faults.v[i]) ? "resolver" : "tc-bpf",
			 "from_ms", (json_int_t)applied->from_ms, "to_ms",
			 applied->to_ms == MR_OUTAGE_NO_END
				 ? json_null()
				 : json_integer((json_int_t)applied->to_ms));
}

json_t *mr_faults_to_json(const struct mr_run *run)
{
	const struct mr_faults *faults = &run->faults;
	json_t *list;

	if (!faults->n)
		return json_null();
	list = json_array();
	for (size_t i = 0; i < faults->n; i++) {
		const char *why = faults->applied[i].why;

		json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:s?}", "state",
						      state_of(run, i), "requested",
						      mr_outage_to_json(&faults->v[i]), "applied",
						      applied_json(run, i), "measured",
						      met_json(&faults->applied[i]), "why",
						      why[0] ? why : NULL));
	}
	return list;
}
