/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules: what --net allowlist allows, as data
 *
 *   HOST[:PORT]    without a port: every port
 *
 *   HOST is  a.b.c.d  a.b.c.d/N  [v6]  [v6/N]  v6  v6/N (these two without a port)
 *            name.of.a.host          that name alone
 *            *.name.of.a.domain      every name below it, not itself
 *
 * All addresses are 16 bytes here, IPv4 as ::ffff:a.b.c.d, and so are prefix lengths (a.b.c.d/24
 * is 120).  Names are lower case without a dot at the end.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_error;

#define MR_RULE_NAME_MAX 253
#define MR_RULES_MAX 256

enum mr_rule_kind { MR_RULE_ADDRESS, MR_RULE_NAME, MR_RULE_BELOW };

struct mr_rule {
	enum mr_rule_kind kind;
	struct in6_addr address; /* ADDRESS; bits beyond the length are zero */
	unsigned int length; /* ADDRESS: 0 to 128 */
	char name[MR_RULE_NAME_MAX + 1]; /* NAME, and BELOW without its "*." */
	uint16_t port; /* 0: every port */
};

/* MR_E_USAGE saying what is wrong with it and what is accepted. */
int mr_rule_parse(const char *text, struct mr_rule *ret, struct mr_error *err);
/* The same where a loopback address is one like others. */
int mr_rule_parse_inside(const char *text, struct mr_rule *ret, struct mr_error *err);
/* As it would be written, in one way only; returns buf. */
#define MR_RULE_TEXT_SIZE 280
const char *mr_rule_print(const struct mr_rule *rule, char buf[MR_RULE_TEXT_SIZE]);
/* The address of one server: "a.b.c.d", "a.b.c.d:PORT", "[v6]", "[v6]:PORT".  MR_E_USAGE. */
int mr_rule_parse_endpoint(const char *text, uint16_t default_port, struct in6_addr *ret,
			   uint16_t *ret_port, struct mr_error *err);
/* Lower case, without the dot at the end, and every label of it as a host's may be (letters,
 * digits, '-', '_'; 1 to 63 bytes).  False: it is no name of a host; ret is then some text. */
bool mr_rule_normalise_name(const char *name, size_t size, char ret[MR_RULE_NAME_MAX + 1]);
/* Does an ADDRESS rule hold the address, or a NAME or BELOW rule the (normalised) name? */
bool mr_rule_holds_address(const struct mr_rule *rule, const struct in6_addr *address);
bool mr_rule_holds_name(const struct mr_rule *rule, const char *name);

/* Address literals: an address as text, IPv4 in its own form; returns buf. */
const char *mr_rule_print_address(const struct in6_addr *address, char buf[INET6_ADDRSTRLEN]);

/* "private" and the like for an address that only a rule within the same special block allows;
 * NULL: it is anybody's.  An IPv4 address in one of its IPv6 disguises is what it is in IPv4. */
const char *mr_rule_special(const struct in6_addr *address);
/* Does the rule name the special block, or a part of it, that the address is in? */
bool mr_rule_names_special(const struct mr_rule *rule, const struct in6_addr *address);
