/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate: what is allowed
 *
 * The rules of a run, and what its resolver has learned.  menace-netd decides by it; the supervisor has one
 * beside, to say why something was refused and to tell the kernel early.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/gate.h"
#include "netns/rules.h"

struct mr_error;

#define MR_GATE_PINS_MAX 2048
#define MR_GATE_LABEL_MAX 40 /* below a wildcard */
#define MR_GATE_PART_MAX 63 /* all that stands for the star */
#define MR_GATE_NAMES_MAX 128 /* different names below one wildcard */
#define MR_GATE_SERVERS_MAX 8

struct mr_gate_server {
	struct in6_addr address;
	uint16_t port;
};

struct mr_gate_pin_row {
	struct in6_addr address;
	uint64_t expires_ns;
	char name[MR_RULE_NAME_MAX + 1];
};

/* Names that were asked for below one wildcard: hashes are enough to count them. */
struct mr_gate_names {
	uint64_t seen[MR_GATE_NAMES_MAX];
	size_t n;
};

/* Zeroed is empty. */
struct mr_gate_policy {
	struct mr_rule *rules;
	struct mr_gate_names *names; /* one a rule */
	size_t n_rules;
	struct mr_gate_pin_row *pins;
	size_t n_pins, pins_cap;
	struct mr_gate_server servers[MR_GATE_SERVERS_MAX];
	size_t n_servers;
};

enum mr_gate_verdict {
	MR_GATE_DIRECT, /* a rule allows the address */
	MR_GATE_NAMED, /* it was given for a name: the name must be shown */
	MR_GATE_REFUSED, /* *ret_reason says why */
};

/* The configuration: {"rules": [TEXT...], "servers": [ADDRESS:PORT...]}; "faults" are not its. */
int mr_gate_policy_parse(struct mr_gate_policy *policy, const char *config, size_t size,
			 struct mr_error *err);
void mr_gate_policy_deinit(struct mr_gate_policy *policy);
enum mr_gate_verdict mr_gate_policy_judge(const struct mr_gate_policy *policy,
					  const struct in6_addr *address, uint16_t port,
					  uint64_t now_ns, enum mr_gate_reason *ret_reason);
/* A rule names this very address, so that it may even be one of the host's own. */
bool mr_gate_policy_names_host(const struct mr_gate_policy *policy, const struct in6_addr *address,
			       uint16_t port);
/* Was the address given for this name, which may be used with the port? */
bool mr_gate_policy_shows(const struct mr_gate_policy *policy, const struct in6_addr *address,
			  uint16_t port, const char *name, uint64_t now_ns);
/* May this name be asked for?  Counts it when it is one below a wildcard. */
bool mr_gate_policy_name(struct mr_gate_policy *policy, const char *name,
			 enum mr_gate_reason *ret_reason);
/* May a name lead to this address? */
bool mr_gate_policy_target(const struct mr_gate_policy *policy, const struct in6_addr *address);
/* The name leads to the address until then.  False: there is no room. */
bool mr_gate_policy_pin(struct mr_gate_policy *policy, const char *name,
			const struct in6_addr *address, uint64_t now_ns, uint64_t expires_ns);
/* The ports on which an address may be reached at all; their number, 0: every port. */
uint32_t mr_gate_policy_ports(const struct mr_gate_policy *policy, const struct in6_addr *address,
			      uint64_t now_ns, uint16_t ports[MR_GATE_PORTS_MAX]);
