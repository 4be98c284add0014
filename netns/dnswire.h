/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages: what the resolver of --net allowlist reads and writes
 *
 * Both sides are hostile: the query is the payload's, the answer an unknown server's.  Only
 * addresses pass: an answer is taken apart and a new one is written, so that no byte of one
 * side reaches the other but through a name that a rule allows and through addresses.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/rules.h"

#define MR_DNSWIRE_UDP_MAX 1232 /* the largest answer over UDP that is read or written */
#define MR_DNSWIRE_ADDRESSES_MAX 16
#define MR_DNSWIRE_QUESTION_MAX 260 /* a name on the wire, its type and its class */

#define MR_DNS_TYPE_A 1
#define MR_DNS_TYPE_CNAME 5
#define MR_DNS_TYPE_AAAA 28
#define MR_DNS_TYPE_OPT 41
#define MR_DNS_TYPE_SVCB 64
#define MR_DNS_TYPE_HTTPS 65

enum mr_dns_rcode {
	MR_DNS_NOERROR = 0,
	MR_DNS_FORMERR = 1,
	MR_DNS_SERVFAIL = 2,
	MR_DNS_NXDOMAIN = 3,
	MR_DNS_NOTIMP = 4,
	MR_DNS_REFUSED = 5,
};

struct mr_dnswire_query {
	uint16_t id, flags, type;
	uint16_t size_max; /* of an answer over UDP: 512, or what the query offers */
	char name[MR_RULE_NAME_MAX + 1]; /* normalised; "" when it is no name of a host */
	size_t longest_label;
	uint8_t question[MR_DNSWIRE_QUESTION_MAX]; /* as it came, for the answer */
	size_t question_size; /* 0: it could not be read */
};

struct mr_dnswire_answer {
	enum mr_dns_rcode rcode;
	bool truncated;
	uint32_t ttl_s; /* the least of all records used */
	size_t n;
	struct in6_addr addresses[MR_DNSWIRE_ADDRESSES_MAX];
};

/* 0, or -EPROTO: no query for one name of class IN; then only id, flags and what could be read of the
 * question are set, and -EBADMSG: not even a head, to which no answer is possible. */
int mr_dnswire_read_query(const uint8_t *bytes, size_t size, struct mr_dnswire_query *ret);
/* An answer in buf (at least 512 bytes): its size.  As many addresses as fit and are of the query's type. */
size_t mr_dnswire_write_answer(const struct mr_dnswire_query *query,
			       const struct mr_dnswire_answer *answer, uint8_t *buf, size_t size);
/* A query to ask outside: its size, at most MR_DNSWIRE_QUESTION_MAX + 12. */
size_t mr_dnswire_write_query(uint16_t id, const char *name, uint16_t type, uint8_t *buf);
/* 0, or -EPROTO: it is no answer to that query.  Aliases (CNAME) are followed within it. */
int mr_dnswire_read_answer(const uint8_t *bytes, size_t size, uint16_t id, const char *name,
			   uint16_t type, struct mr_dnswire_answer *ret);
