/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate: what is allowed
 *
 * Rules never change; pins are what the resolver has learned, each a name, an address and an end.
 * Nothing here touches the network or looks at a clock.
 */
#include "netns/gate_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

/* --- configuration ------------------------------------------------------------------- */

static int take_rules(struct mr_gate_policy *policy, const struct mr_json *list,
		      struct mr_error *err)
{
	int r = mr_json_want_array(list, err);

	if (r < 0)
		return r;
	policy->rules = mr_str_alloc((json_array_size(list->value) + 1) * sizeof(*policy->rules));
	policy->names = mr_str_alloc((json_array_size(list->value) + 1) * sizeof(*policy->names));
	for (size_t i = 0; i < json_array_size(list->value); i++) {
		struct mr_json item = mr_json_item(list, i);
		const char *text = NULL;

		r = mr_json_get_string(&item, &text, err);
		if (r == 0)
			r = mr_rule_parse(text, &policy->rules[policy->n_rules], err);
		if (r < 0)
			return r;
		policy->n_rules++;
	}
	return 0;
}

static int take_servers(struct mr_gate_policy *policy, const struct mr_json *list,
			struct mr_error *err)
{
	int r = mr_json_want_array(list, err);

	for (size_t i = 0; r == 0 && i < json_array_size(list->value) && i < MR_GATE_SERVERS_MAX;
	     i++) {
		struct mr_json item = mr_json_item(list, i);
		struct mr_gate_server *server = &policy->servers[policy->n_servers];
		const char *text = NULL;

		r = mr_json_get_string(&item, &text, err);
		if (r == 0)
			r = mr_rule_parse_endpoint(text, MR_DOORS_DNS_PORT, &server->address,
						   &server->port, err);
		policy->n_servers += r == 0;
	}
	return r;
}

int mr_gate_policy_parse(struct mr_gate_policy *policy, const char *config, size_t size,
			 struct mr_error *err)
{
	mr_auto_json json_t *document = NULL;
	struct mr_json root, member;
	int r = mr_json_parse(config, size, "allowlist", &document, err);

	if (r < 0)
		return r;
	root = mr_json_root(document, "allowlist");
	if (!mr_json_member(&root, "rules", &member))
		return mr_json_err(&root, err, "\"rules\" is missing");
	r = take_rules(policy, &member, err);
	if (r == 0 && mr_json_member(&root, "servers", &member))
		r = take_servers(policy, &member, err);
	return r;
}

void mr_gate_policy_deinit(struct mr_gate_policy *policy)
{
	free(policy->rules);
	free(policy->names);
	free(policy->pins);
	*policy = (struct mr_gate_policy){ 0 };
}

/* --- addresses ----------------------------------------------------------------------- */

static bool same_address(const struct in6_addr *a, const struct in6_addr *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool allows_port(const struct mr_rule *rule, uint16_t port)
{
	return rule->port == 0 || rule->port == port;
}

/* Is there a rule for the name, and one for it with the port? */
static bool allows_name(const struct mr_gate_policy *policy, const char *name, uint16_t port,
			bool *ret_other_port)
{
	for (size_t i = 0; i < policy->n_rules; i++) {
		if (!mr_rule_holds_name(&policy->rules[i], name))
			continue;
		if (allows_port(&policy->rules[i], port))
			return true;
		*ret_other_port = true;
	}
	return false;
}

static bool allows_address(const struct mr_gate_policy *policy, const struct in6_addr *address,
			   uint16_t port, bool *ret_other_port)
{
	const bool special = mr_rule_special(address) != NULL;

	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct mr_rule *rule = &policy->rules[i];

		if (!mr_rule_holds_address(rule, address) ||
		    (special && !mr_rule_names_special(rule, address)))
			continue;
		if (allows_port(rule, port))
			return true;
		*ret_other_port = true;
	}
	return false;
}

enum mr_gate_verdict mr_gate_policy_judge(const struct mr_gate_policy *policy,
					  const struct in6_addr *address, uint16_t port,
					  uint64_t now_ns, enum mr_gate_reason *ret_reason)
{
	const bool special = mr_rule_special(address) != NULL;
	bool other_port = false, expired = false;

	if (allows_address(policy, address, port, &other_port))
		return MR_GATE_DIRECT;
	/* That a name leads to a special address allows nothing that no rule for the address does. */
	for (size_t i = 0; !special && i < policy->n_pins; i++) {
		const struct mr_gate_pin_row *pin = &policy->pins[i];

		if (!same_address(&pin->address, address))
			continue;
		if (pin->expires_ns <= now_ns)
			expired = true;
		else if (allows_name(policy, pin->name, port, &other_port))
			return MR_GATE_NAMED;
	}
	*ret_reason = other_port ? MR_GATE_PORT
		      : special	 ? MR_GATE_SPECIAL
		      : expired	 ? MR_GATE_EXPIRED
				 : MR_GATE_ADDRESS;
	return MR_GATE_REFUSED;
}

bool mr_gate_policy_names_host(const struct mr_gate_policy *policy, const struct in6_addr *address,
			       uint16_t port)
{
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct mr_rule *rule = &policy->rules[i];

		if (rule->kind == MR_RULE_ADDRESS && rule->length == 128 &&
		    same_address(&rule->address, address) && allows_port(rule, port))
			return true;
	}
	return false;
}

bool mr_gate_policy_shows(const struct mr_gate_policy *policy, const struct in6_addr *address,
			  uint16_t port, const char *name, uint64_t now_ns)
{
	bool other_port = false;

	if (mr_rule_special(address))
		return false;
	for (size_t i = 0; i < policy->n_pins; i++) {
		const struct mr_gate_pin_row *pin = &policy->pins[i];

		if (same_address(&pin->address, address) && pin->expires_ns > now_ns &&
		    strcmp(pin->name, name) == 0 && allows_name(policy, name, port, &other_port))
			return true;
	}
	return false;
}

/* --- names ---------------------------------------------------------------------------- */

static uint64_t hash_name(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ULL;
	return h;
}

/* False: it would be one too many. */
static bool count_name(struct mr_gate_names *names, const char *name)
{
	uint64_t hash = hash_name(name);

	for (size_t i = 0; i < names->n; i++) {
		if (names->seen[i] == hash)
			return true;
	}
	if (names->n == MR_GATE_NAMES_MAX)
		return false;
	names->seen[names->n++] = hash;
	return true;
}

/* What stands for the star: its labels and all of it are bounded. */
static bool is_short(const char *name, size_t n)
{
	size_t label = 0;

	for (size_t i = 0; i < n; i++) {
		label = name[i] == '.' ? 0 : label + 1;
		if (label > MR_GATE_LABEL_MAX)
			return false;
	}
	return n <= MR_GATE_PART_MAX;
}

bool mr_gate_policy_name(struct mr_gate_policy *policy, const char *name,
			 enum mr_gate_reason *ret_reason)
{
	*ret_reason = MR_GATE_NAME;
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct mr_rule *rule = &policy->rules[i];

		if (!mr_rule_holds_name(rule, name))
			continue;
		if (rule->kind == MR_RULE_NAME)
			return true;
		if (!is_short(name, strlen(name) - strlen(rule->name) - 1))
			*ret_reason = MR_GATE_LONG_LABEL;
		else if (!count_name(&policy->names[i], name))
			*ret_reason = MR_GATE_MANY_NAMES;
		else
			return true;
	}
	return false;
}

bool mr_gate_policy_target(const struct mr_gate_policy *policy, const struct in6_addr *address)
{
	if (!mr_rule_special(address))
		return true;
	for (size_t i = 0; i < policy->n_rules; i++) {
		if (mr_rule_names_special(&policy->rules[i], address))
			return true;
	}
	return false;
}

/* The row of the pair, else one that is over, else a new one. */
static struct mr_gate_pin_row *find_row(struct mr_gate_policy *policy, const char *name,
					const struct in6_addr *address, uint64_t now_ns)
{
	struct mr_gate_pin_row *over = NULL;

	for (size_t i = 0; i < policy->n_pins; i++) {
		struct mr_gate_pin_row *pin = &policy->pins[i];

		if (same_address(&pin->address, address) && strcmp(pin->name, name) == 0)
			return pin;
		if (pin->expires_ns <= now_ns)
			over = pin;
	}
	/* One that is over says why its address is refused: it goes when there is need. */
	if (policy->n_pins == MR_GATE_PINS_MAX)
		return over;
	policy->pins =
		mr_str_grow(policy->pins, policy->n_pins, &policy->pins_cap, sizeof(*policy->pins));
	return &policy->pins[policy->n_pins++];
}

bool mr_gate_policy_pin(struct mr_gate_policy *policy, const char *name,
			const struct in6_addr *address, uint64_t now_ns, uint64_t expires_ns)
{
	struct mr_gate_pin_row *pin = find_row(policy, name, address, now_ns);

	if (!pin)
		return false;
	*pin = (struct mr_gate_pin_row){ .address = *address, .expires_ns = expires_ns };
	memcpy(pin->name, name, strlen(name) + 1);
	return true;
}

/* --- ports ---------------------------------------------------------------------------- */

struct ports {
	uint16_t *list;
	uint32_t n;
	bool all;
};

static void add_port(struct ports *ports, uint16_t port)
{
	for (uint32_t i = 0; i < ports->n; i++) {
		if (ports->list[i] == port)
			return;
	}
	if (port == 0 || ports->n == MR_GATE_PORTS_MAX)
		ports->all = true; /* the relay itself knows better than a list too short */
	else
		ports->list[ports->n++] = port;
}

uint32_t mr_gate_policy_ports(const struct mr_gate_policy *policy, const struct in6_addr *address,
			      uint64_t now_ns, uint16_t list[MR_GATE_PORTS_MAX])
{
	const bool special = mr_rule_special(address) != NULL; /* names add nothing then */
	struct ports ports = { .list = list };

	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct mr_rule *rule = &policy->rules[i];
		bool holds = mr_rule_holds_address(rule, address);

		for (size_t j = 0; !special && !holds && j < policy->n_pins; j++)
			holds = same_address(&policy->pins[j].address, address) &&
				policy->pins[j].expires_ns > now_ns &&
				mr_rule_holds_name(rule, policy->pins[j].name);
		if (holds)
			add_port(&ports, rule->port);
	}
	return ports.all ? 0 : ports.n;
}
