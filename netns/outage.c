/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outage
 *
 * Whoever makes one - the program on the link, or a resolver - keeps struct mr_drop_met of it: when
 * something that it concerns passed before, within and after its time is the proof of when it was
 * really in force.
 */
#include "netns/outage.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

static const char *const kinds[] = {
#define OUTAGE(name, help) #name,
#include "netns/outages.def"
#undef OUTAGE
};

static const char accepted[] = "accepted: KIND[:HOST,...]@FROM..[TO]";

static int refuse(struct mr_error *err, const char *text, const char *what)
{
	char quoted[MR_STR_QUOTE_SIZE];

	return mr_err(err, MR_E_USAGE, EINVAL, "%s: %s; %s",
		      mr_str_quote(quoted, sizeof(quoted), text), what, accepted);
}

const char *mr_outage_kind_name(enum mr_outage_kind kind)
{
	mr_assert((size_t)kind < N_ELEMENTS(kinds));
	return kinds[kind];
}

static int parse_kind(const char *word, enum mr_outage_kind *ret, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	for (unsigned int i = 0; i < MR_OUTAGE_KINDS_; i++) {
		*ret = (enum mr_outage_kind)i;
		if (strcmp(word, kinds[i]) == 0)
			return 0;
	}
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "%s is no kind of fault; accepted: blackhole, partition, refuse, dns_failure "
		      "(a delay, a rate and losses of the whole run: net.latency_ms and the like)",
		      mr_str_quote(quoted, sizeof(quoted), word));
}

static int parse_time(const char *text, uint64_t *ret_ms, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	int r = mr_units_parse_timespan(text, false, ret_ms, err);

	if (r == 0 && *ret_ms > MR_OUTAGE_TIME_MAX_MS)
		return mr_err(err, MR_E_USAGE, ERANGE,
			      "%s is out of range; accepted: 0 to 365 days",
			      mr_str_quote(quoted, sizeof(quoted), text));
	return r;
}

/* "FROM..[TO]" */
static int parse_window(const char *window, struct mr_outage *o, struct mr_error *err)
{
	const char *dots = strstr(window, "..");
	mr_auto_free char *from = NULL;
	int r;

	if (!dots || dots == window)
		return refuse(err, window, dots ? "FROM is missing" : "\"..\" is missing");
	from = mr_str_ndup(window, (size_t)(dots - window));
	o->to_ms = MR_OUTAGE_NO_END;
	r = parse_time(from, &o->from_ms, err);
	if (r == 0 && dots[2] != '\0')
		r = parse_time(dots + 2, &o->to_ms, err);
	if (r == 0 && o->from_ms >= o->to_ms)
		return refuse(err, window, "TO is not after FROM, so it would never be in force");
	return r;
}

static int parse_host(const char *text, enum mr_outage_kind kind, struct mr_outage_host *host,
		      struct mr_error *err)
{
	static const char port_of[] = "0.0.0.0/0"; /* a port is read as it is with any address */
	mr_auto_free char *full = NULL;
	int r;

	host->any = text[0] == '*' && (text[1] == '\0' || text[1] == ':');
	if (host->any)
		full = mr_str_format("%s%s", port_of, text + 1);
	r = mr_rule_parse_inside(full ? full : text, &host->rule, err);
	if (r < 0)
		return host->any ? refuse(err, text, "the port is not one of 1 to 65535") : r;
	if (kind != MR_OUTAGE_dns_failure)
		return 0;
	if (host->any ? !host->rule.port : host->rule.kind != MR_RULE_ADDRESS && !host->rule.port)
		return 0;
	return refuse(err, text, "dns_failure is of names: NAME, *.DOMAIN or *, without a port");
}

static int parse_hosts(const char *list, struct mr_outage *o, struct mr_error *err)
{
	for (;;) {
		const size_t n = strcspn(list, ",");
		mr_auto_free char *text = mr_str_ndup(list, n);
		int r;

		if (o->n_hosts == MR_OUTAGE_HOSTS_MAX)
			return mr_err(err, MR_E_USAGE, E2BIG,
				      "too many hosts of one fault; accepted: at most %d",
				      MR_OUTAGE_HOSTS_MAX);
		r = parse_host(text, o->kind, &o->hosts[o->n_hosts], err);
		if (r < 0)
			return r;
		o->n_hosts++;
		if (list[n] == '\0')
			return 0;
		list += n + 1;
	}
}

int mr_outage_parse(const char *text, struct mr_outage *ret, struct mr_error *err)
{
	const char *at = strrchr(text, '@');
	struct mr_outage *o = ret;
	mr_auto_free char *head = NULL;
	char *hosts;
	int r;

	*o = (struct mr_outage){ 0 };
	if (!at)
		return refuse(err, text, "\"@\" is missing");
	head = mr_str_ndup(text, (size_t)(at - text));
	hosts = strchr(head, ':');
	if (hosts)
		*hosts++ = '\0';
	r = parse_kind(head, &o->kind, err);
	if (r == 0 && hosts)
		r = parse_hosts(hosts, o, err);
	return r < 0 ? r : parse_window(at + 1, o, err);
}

char *mr_outage_print_host(const struct mr_outage_host *host)
{
	char text[MR_RULE_TEXT_SIZE];

	if (!host->any)
		return mr_str_dup(mr_rule_print(&host->rule, text));
	return host->rule.port ? mr_str_format("*:%u", host->rule.port) : mr_str_dup("*");
}

char *mr_outage_print(const struct mr_outage *outage)
{
	struct mr_buf buf = { 0 };
	char from[MR_UNITS_SIZE], to[MR_UNITS_SIZE] = "";

	mr_buf_add(&buf, kinds[outage->kind]);
	for (size_t i = 0; i < outage->n_hosts; i++) {
		mr_auto_free char *host = mr_outage_print_host(&outage->hosts[i]);

		mr_buf_add(&buf, i == 0 ? ":" : ",");
		mr_buf_add(&buf, host);
	}
	if (outage->to_ms != MR_OUTAGE_NO_END)
		mr_units_print_timespan(to, outage->to_ms);
	mr_buf_add(&buf, "@");
	mr_buf_add(&buf, mr_units_print_timespan(from, outage->from_ms));
	mr_buf_add(&buf, "..");
	mr_buf_add(&buf, to);
	return buf.text;
}

bool mr_outage_is_of_names(const struct mr_outage *outage)
{
	return outage->kind == MR_OUTAGE_dns_failure;
}

bool mr_outage_names(const struct mr_outage *outage, const char *name)
{
	for (size_t i = 0; i < outage->n_hosts; i++)
		if (outage->hosts[i].any || mr_rule_holds_name(&outage->hosts[i].rule, name))
			return true;
	return outage->n_hosts == 0;
}

static bool is_in_force(const struct mr_outage *o, uint64_t since_ns, struct mr_drop_met *met)
{
	const uint64_t from_ns = o->from_ms * 1000000;

	/* The first instant is 1, for 0 is never. */
	since_ns += since_ns == 0;
	if (since_ns < from_ns) {
		met->before++;
		met->last_before_ns = since_ns;
	} else if (o->to_ms != MR_OUTAGE_NO_END && since_ns >= o->to_ms * 1000000) {
		met->after++;
		if (!met->first_after_ns)
			met->first_after_ns = since_ns;
	} else {
		met->within++;
		return true;
	}
	return false;
}

bool mr_outages_take_name(const struct mr_outage *outages, size_t n, const char *name,
			  uint64_t since_ns, struct mr_drop_met *counts)
{
	bool taken = false;

	for (size_t i = 0; i < n; i++) {
		struct mr_drop_met *met = &counts[i];

		if (!mr_outage_is_of_names(&outages[i]) || !mr_outage_names(&outages[i], name) ||
		    !is_in_force(&outages[i], since_ns, met) || taken)
			continue;
		taken = true;
		met->taken++;
		met->last_taken_ns = since_ns + (since_ns == 0);
		if (!met->first_taken_ns)
			met->first_taken_ns = met->last_taken_ns;
	}
	return taken;
}
