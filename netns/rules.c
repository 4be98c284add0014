/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules
 *
 * One row of blocks[] is one block of special addresses, the narrower ones first.  A block
 * that holds IPv4 addresses in disguise (mapped, NAT64, 6to4, compatible) is no block of its own: the address
 * within is looked at instead.
 */
#include "netns/rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

#define LABEL_MAX 63
#define IPV4_BITS 32
#define IPV6_BITS 128

static const char accepted[] = "accepted: HOST[:PORT] with a.b.c.d, a.b.c.d/N, [IPv6], [IPv6/N], "
			       "a name or *.domain";

static int refuse(struct mr_error *err, const char *text, const char *what)
{
	char quoted[MR_STR_QUOTE_SIZE];

	return mr_err(err, MR_E_USAGE, EINVAL, "%s: %s; %s",
		      mr_str_quote(quoted, sizeof(quoted), text), what, accepted);
}

/* --- addresses ----------------------------------------------------------------------- */

static void map_ipv4(const void *ipv4, struct in6_addr *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->s6_addr[10] = ret->s6_addr[11] = 0xff;
	memcpy(&ret->s6_addr[12], ipv4, 4);
}

static bool in_prefix(const struct in6_addr *address, const struct in6_addr *prefix,
		      unsigned int length)
{
	const unsigned int bytes = length / 8, bits = length % 8;

	if (memcmp(address->s6_addr, prefix->s6_addr, bytes) != 0)
		return false;
	return bits == 0 || (address->s6_addr[bytes] ^ prefix->s6_addr[bytes]) >> (8 - bits) == 0;
}

/* Are all bits beyond the length zero? */
static bool is_network(const struct in6_addr *address, unsigned int length)
{
	for (unsigned int i = length; i < IPV6_BITS; i++) {
		if (address->s6_addr[i / 8] & (0x80 >> (i % 8)))
			return false;
	}
	return true;
}

const char *mr_rule_print_address(const struct in6_addr *address, char buf[INET6_ADDRSTRLEN])
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, &address->s6_addr[12], buf, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, address, buf, INET6_ADDRSTRLEN);
	return buf;
}

static const struct block {
	const char *prefix;
	unsigned int length; /* of its own family */
	const char *name;
} blocks[] = {
	{ "0.0.0.0", 8, "unspecified" },
	{ "127.0.0.0", 8, "loopback" },
	{ "10.0.0.0", 8, "private" },
	{ "172.16.0.0", 12, "private" },
	{ "192.168.0.0", 16, "private" },
	{ "100.64.0.0", 10, "shared by a carrier" },
	{ "169.254.0.0", 16, "link-local or metadata" },
	{ "168.63.129.16", 32, "metadata" },
	{ "192.0.0.0", 24, "of protocols" },
	{ "198.18.0.0", 15, "for benchmarks" },
	{ "224.0.0.0", 4, "multicast" },
	{ "240.0.0.0", 4, "reserved" },
	{ "::1", 128, "loopback" },
	{ "::", 128, "unspecified" },
	{ "fc00::", 7, "private" },
	{ "fe80::", 10, "link-local" },
	{ "fec0::", 10, "site-local" },
	{ "ff00::", 8, "multicast" },
	{ "64:ff9b:1::", 48, "translated locally" },
	{ "2001::", 32, "a Teredo tunnel's" },
};

/* Where an IPv4 address lies in IPv6 ones with this prefix. */
static const struct disguise {
	const char *prefix;
	unsigned int length;
	size_t at;
} disguises[] = {
	{ "64:ff9b::", 96, 12 }, { "2002::", 16, 2 }, { "::", 96, 12 }, /* but for :: and ::1 */
};

static void read_prefix(const char *prefix, struct in6_addr *ret)
{
	struct in_addr ipv4;

	if (inet_pton(AF_INET, prefix, &ipv4) == 1)
		map_ipv4(&ipv4, ret);
	else
		mr_assert(inet_pton(AF_INET6, prefix, ret) == 1);
}

static unsigned int full_length(const struct in6_addr *prefix, unsigned int length)
{
	return IN6_IS_ADDR_V4MAPPED(prefix) ? length + IPV6_BITS - IPV4_BITS : length;
}

static struct in6_addr undisguise(const struct in6_addr *address)
{
	struct in6_addr prefix, plain;

	if (IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address))
		return *address;
	for (size_t i = 0; i < N_ELEMENTS(disguises); i++) {
		read_prefix(disguises[i].prefix, &prefix);
		if (!in_prefix(address, &prefix, disguises[i].length))
			continue;
		map_ipv4(&address->s6_addr[disguises[i].at], &plain);
		return plain;
	}
	return *address;
}

static const struct block *find_block(const struct in6_addr *address, struct in6_addr *ret_prefix)
{
	for (size_t i = 0; i < N_ELEMENTS(blocks); i++) {
		read_prefix(blocks[i].prefix, ret_prefix);
		if (in_prefix(address, ret_prefix, full_length(ret_prefix, blocks[i].length)))
			return &blocks[i];
	}
	return NULL;
}

const char *mr_rule_special(const struct in6_addr *address)
{
	const struct in6_addr plain = undisguise(address);
	struct in6_addr prefix;
	const struct block *block = find_block(&plain, &prefix);

	return block ? block->name : NULL;
}

bool mr_rule_names_special(const struct mr_rule *rule, const struct in6_addr *address)
{
	const struct in6_addr plain = undisguise(address);
	struct in6_addr prefix;
	const struct block *block = find_block(&plain, &prefix);
	unsigned int length;

	if (!block || rule->kind != MR_RULE_ADDRESS || !mr_rule_holds_address(rule, address))
		return false;
	/* In disguise only by a rule for that very address. */
	if (memcmp(&plain, address, sizeof(plain)) != 0)
		return rule->length == IPV6_BITS;
	length = full_length(&prefix, block->length);
	return rule->length >= length && in_prefix(&rule->address, &prefix, length);
}

bool mr_rule_holds_address(const struct mr_rule *rule, const struct in6_addr *address)
{
	/* ::/0 and the like are about IPv6: IPv4 only looks like a part of it here. */
	if (rule->kind == MR_RULE_ADDRESS && rule->length < IPV6_BITS - IPV4_BITS &&
	    IN6_IS_ADDR_V4MAPPED(address))
		return false;
	return rule->kind == MR_RULE_ADDRESS && in_prefix(address, &rule->address, rule->length);
}

/* --- names --------------------------------------------------------------------------- */

static bool is_label_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool mr_rule_normalise_name(const char *name, size_t size, char ret[MR_RULE_NAME_MAX + 1])
{
	size_t label = 0;

	ret[0] = '\0';
	if (size > 0 && name[size - 1] == '.')
		size--;
	if (size == 0 || size > MR_RULE_NAME_MAX)
		return false;
	for (size_t i = 0; i < size; i++) {
		char c = name[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		ret[i] = c;
		ret[i + 1] = '\0'; /* also where it is given up */
		if (c == '.' ? label == 0 : !is_label_byte(c) || label == LABEL_MAX)
			return false;
		label = c == '.' ? 0 : label + 1;
	}
	return label > 0;
}

bool mr_rule_holds_name(const struct mr_rule *rule, const char *name)
{
	size_t n = strlen(name), tail = strlen(rule->name);

	if (rule->kind == MR_RULE_NAME)
		return strcmp(rule->name, name) == 0;
	return rule->kind == MR_RULE_BELOW && n > tail + 1 && name[n - tail - 1] == '.' &&
	       strcmp(name + n - tail, rule->name) == 0;
}

/* --- text ---------------------------------------------------------------------------- */

static int parse_port(const char *whole, const char *text, uint16_t *ret, struct mr_error *err)
{
	uint64_t port = 0;

	if (mr_units_parse_count(text, &port, NULL) < 0 || port < 1 || port > UINT16_MAX)
		return refuse(err, whole, "the port is not one of 1 to 65535");
	*ret = (uint16_t)port;
	return 0;
}

/* "ADDRESS" or "ADDRESS/N".  1: it is no address at all. */
static int parse_address(const char *whole, const char *text, struct mr_rule *rule,
			 struct mr_error *err)
{
	mr_auto_free char *address = mr_str_ndup(text, strcspn(text, "/"));
	const char *slash = strchr(text, '/');
	struct in_addr ipv4;
	bool is_ipv4 = inet_pton(AF_INET, address, &ipv4) == 1;
	uint64_t length = is_ipv4 ? IPV4_BITS : IPV6_BITS;
	const uint64_t most = length;

	if (is_ipv4)
		map_ipv4(&ipv4, &rule->address);
	else if (inet_pton(AF_INET6, address, &rule->address) != 1)
		return 1;
	if (!is_ipv4 && IN6_IS_ADDR_V4MAPPED(&rule->address))
		return refuse(err, whole, "write an IPv4 address in its own form");
	if (slash && (mr_units_parse_count(slash + 1, &length, NULL) < 0 || length > most))
		return refuse(err, whole,
			      is_ipv4 ? "the prefix length is not one of 0 to 32"
				      : "the prefix length is not one of 0 to 128");
	rule->kind = MR_RULE_ADDRESS;
	rule->length = full_length(&rule->address, (unsigned int)length);
	if (!is_network(&rule->address, rule->length))
		return refuse(err, whole, "the address has bits beyond its prefix length");
	return 0;
}

static bool is_loopback(const struct mr_rule *rule)
{
	if (rule->kind != MR_RULE_ADDRESS)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&rule->address) ||
	       (IN6_IS_ADDR_V4MAPPED(&rule->address) &&
		rule->address.s6_addr[12] == IN_LOOPBACKNET &&
		rule->length > IPV6_BITS - IPV4_BITS);
}

/* A name whose last label is a number is an address gone wrong. */
static bool looks_like_address(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot ? dot + 1 : name;

	return last[strspn(last, "0123456789")] == '\0';
}

static int parse_name(const char *whole, const char *text, struct mr_rule *rule,
		      struct mr_error *err)
{
	const bool below = mr_str_starts_with(text, "*.");
	const char *name = below ? text + 2 : text;

	if (text[0] == '\0')
		return refuse(err, whole, "the host is empty");
	if (!mr_rule_normalise_name(name, strlen(name), rule->name))
		return refuse(err, whole, "this is neither an address nor the name of a host");
	if (looks_like_address(rule->name))
		return refuse(err, whole, "this is neither an address nor the name of a host");
	if (below && !strchr(rule->name, '.'))
		return refuse(err, whole, "a wildcard needs at least two labels behind it");
	if (strcmp(rule->name, "localhost") == 0 || mr_str_ends_with(rule->name, ".localhost"))
		return refuse(err, whole, "loopback is the sandbox's own and leads nowhere else");
	rule->kind = below ? MR_RULE_BELOW : MR_RULE_NAME;
	return 0;
}

/* "[v6]", "[v6/N]", each with ":PORT" or without. */
static int parse_bracketed(const char *text, struct mr_rule *rule, struct mr_error *err)
{
	const char *end = strchr(text, ']');
	mr_auto_free char *inner = NULL;
	int r;

	if (!end || (end[1] != '\0' && end[1] != ':'))
		return refuse(err, text, "nothing but a port may follow \"]\"");
	inner = mr_str_ndup(text + 1, (size_t)(end - text - 1));
	r = strchr(inner, ':') ? parse_address(text, inner, rule, err) : 1;
	if (r > 0)
		return refuse(err, text, "no IPv6 address is between the brackets");
	return r < 0 || end[1] == '\0' ? r : parse_port(text, end + 2, &rule->port, err);
}

int mr_rule_parse_inside(const char *text, struct mr_rule *ret, struct mr_error *err)
{
	struct mr_rule rule = { 0 };
	const char *colon = strchr(text, ':');
	mr_auto_free char *host = NULL;
	int r = 0;

	if (text[0] == '[') {
		r = parse_bracketed(text, &rule, err);
	} else {
		const bool many = colon && strchr(colon + 1, ':');

		host = many || !colon ? mr_str_dup(text)
				      : mr_str_ndup(text, (size_t)(colon - text));
		if (colon && !many)
			r = parse_port(text, colon + 1, &rule.port, err);
		if (r == 0)
			r = parse_address(text, host, &rule, err);
		if (r > 0)
			r = many ? refuse(err, text, "this is no IPv6 address")
				 : parse_name(text, host, &rule, err);
	}
	if (r == 0)
		*ret = rule;
	return r;
}

int mr_rule_parse(const char *text, struct mr_rule *ret, struct mr_error *err)
{
	struct mr_rule rule;
	int r = mr_rule_parse_inside(text, &rule, err);

	if (r == 0 && is_loopback(&rule))
		return refuse(err, text, "loopback is the sandbox's own and leads nowhere else");
	if (r == 0)
		*ret = rule;
	return r;
}

int mr_rule_parse_endpoint(const char *text, uint16_t default_port, struct in6_addr *ret,
			   uint16_t *ret_port, struct mr_error *err)
{
	static const char forms[] = "accepted: a.b.c.d, a.b.c.d:PORT, [IPv6] or [IPv6]:PORT";
	const bool bracketed = text[0] == '[';
	const char *colon = bracketed ? strchr(text, ']') : strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	mr_auto_free char *host = mr_str_ndup(text + bracketed, n - (colon && bracketed));
	char quoted[MR_STR_QUOTE_SIZE];
	struct in_addr ipv4;
	uint64_t port = default_port;
	bool good;

	colon = colon && bracketed ? colon + 1 : colon;
	good = !colon || *colon == '\0' ||
	       (*colon == ':' && mr_units_parse_count(colon + 1, &port, NULL) == 0);
	good = good && port >= 1 && port <= UINT16_MAX && (!bracketed || colon);
	if (good && !bracketed && inet_pton(AF_INET, host, &ipv4) == 1)
		map_ipv4(&ipv4, ret);
	else if (!good || !bracketed || inet_pton(AF_INET6, host, ret) != 1)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s is no address of a server; %s",
			      mr_str_quote(quoted, sizeof(quoted), text), forms);
	*ret_port = (uint16_t)port;
	return 0;
}

const char *mr_rule_print(const struct mr_rule *rule, char buf[MR_RULE_TEXT_SIZE])
{
	const bool ipv4 = IN6_IS_ADDR_V4MAPPED(&rule->address);
	const unsigned int most = ipv4 ? IPV4_BITS : IPV6_BITS;
	const unsigned int length = rule->length - (IPV6_BITS - most);
	char address[INET6_ADDRSTRLEN];
	struct mr_str str;

	mr_str_init(&str, buf, MR_RULE_TEXT_SIZE);
	if (rule->kind != MR_RULE_ADDRESS) {
		mr_str_printf(&str, "%s%s", rule->kind == MR_RULE_BELOW ? "*." : "", rule->name);
	} else {
		mr_str_printf(&str, "%s%s", ipv4 ? "" : "[",
			      mr_rule_print_address(&rule->address, address));
		if (length < most)
			mr_str_printf(&str, "/%u", length);
		mr_str_add(&str, ipv4 ? "" : "]");
	}
	if (rule->port)
		mr_str_printf(&str, ":%u", rule->port);
	return buf;
}
