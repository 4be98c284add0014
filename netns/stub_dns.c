/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: the resolver of mocked names
 *
 * One question a datagram, as every resolver library asks.  The question goes back as it
 * came, so that its letters keep their case; what follows it (EDNS) is not looked at.  A
 * pointer has no place in the first name of a message and is malformed.
 */
#include "netns/stub_dns.h"

#include <ctype.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "netns/mock.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

#define HEADER 12
#define RECORD 12 /* of an answer, before its address */
#define NAME_MAX_BYTES 255
#define TTL_S 60
#define TYPE_A 1
#define TYPE_AAAA 28
#define TYPE_ANY 255
#define CLASS_IN 1

enum rcode { NOERROR = 0, FORMERR = 1, SERVFAIL = 2, NXDOMAIN = 3, NOTIMP = 4 };

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, unsigned int value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void add_label(struct mr_str *text, const uint8_t *label, size_t n)
{
	if (text->len > 0)
		mr_str_add(text, ".");
	for (size_t i = 0; i < n; i++) {
		const char c = (char)tolower(label[i]);

		if (label[i] > 0x20 && label[i] < 0x7f && c != '.' && c != '\\')
			mr_str_addn(text, &c, 1);
		else
			mr_str_printf(text, "\\%03u", label[i]);
	}
}

/* The name at `at`: where it ends, or 0. */
static size_t read_name(const uint8_t *query, size_t n, size_t at, struct mr_str *text)
{
	const size_t start = at;

	while (at < n && query[at] != 0) {
		const size_t len = query[at];

		if (len > 63 || at + 1 + len >= n || at + 2 + len - start > NAME_MAX_BYTES)
			return 0;
		add_label(text, query + at + 1, len);
		at += 1 + len;
	}
	return at < n ? at + 1 : 0;
}

static void put_header(uint8_t *reply, const uint8_t *query, enum rcode rcode,
		       unsigned int questions, unsigned int answers)
{
	memset(reply, 0, HEADER);
	memcpy(reply, query, 2);
	reply[2] = (uint8_t)(0x84 |
			     (query[2] & 0x79)); /* an answer, authoritative; opcode and RD back */
	reply[3] = (uint8_t)(0x80 | rcode);
	put16(reply + 4, questions);
	put16(reply + 6, answers);
}

/* A record of the name of the question. */
static size_t put_address(uint8_t *at, int family, const struct in6_addr *address)
{
	const bool ipv4 = family == AF_INET;
	const size_t n = ipv4 ? 4 : 16;

	put16(at, 0xc000 | HEADER);
	put16(at + 2, ipv4 ? TYPE_A : TYPE_AAAA);
	put16(at + 4, CLASS_IN);
	put16(at + 6, 0);
	put16(at + 8, TTL_S);
	put16(at + 10, (unsigned int)n);
	memcpy(at + RECORD, &address->s6_addr[16 - n], n);
	return RECORD + n;
}

static enum mr_dns_outcome answer(const struct mr_mocks *mocks, bool without_ipv6,
				  const uint8_t *query, size_t end, uint8_t *reply,
				  size_t *ret_size, const char *name)
{
	static const struct {
		unsigned int type;
		int family;
	} records[] = { { TYPE_A, AF_INET }, { TYPE_AAAA, AF_INET6 } };
	const unsigned int type = get16(query + end - 4), class = get16(query + end - 2);
	unsigned int answers = 0;
	bool known = false;

	*ret_size = end;
	for (size_t i = 0; class == CLASS_IN && i < N_ELEMENTS(records); i++) {
		struct in6_addr address;

		if (!mr_mocks_address(mocks, name, records[i].family, &address))
			continue;
		known = true;
		if ((type != records[i].type && type != TYPE_ANY) ||
		    (without_ipv6 && records[i].family == AF_INET6))
			continue;
		*ret_size += put_address(reply + *ret_size, records[i].family, &address);
		answers++;
	}
	put_header(reply, query, known ? NOERROR : NXDOMAIN, 1, answers);
	memcpy(reply + HEADER, query + HEADER, end - HEADER);
	return known ? MR_DNS_FOUND : MR_DNS_UNKNOWN;
}

enum mr_dns_outcome mr_stub_dns_answer(const struct mr_mocks *mocks, bool without_ipv6,
				       const uint8_t *query, size_t n,
				       uint8_t reply[MR_DNS_REPLY_MAX], size_t *ret_size,
				       char name[MR_DNS_NAME_SIZE])
{
	struct mr_str text;
	size_t end = 0;

	mr_str_init(&text, name, MR_DNS_NAME_SIZE);
	*ret_size = 0;
	if (n < HEADER || query[2] & 0x80)
		return MR_DNS_IGNORED;
	*ret_size = HEADER;
	if (query[2] & 0x78) {
		put_header(reply, query, NOTIMP, 0, 0);
		return MR_DNS_MALFORMED;
	}
	if (get16(query + 4) == 1)
		end = read_name(query, n, HEADER, &text);
	if (!end || n - end < 4) {
		put_header(reply, query, FORMERR, 0, 0);
		return MR_DNS_MALFORMED;
	}
	return answer(mocks, without_ipv6, query, end + 4, reply, ret_size, name);
}

size_t mr_stub_dns_fail(uint8_t *reply, size_t size)
{
	char name[MR_DNS_NAME_SIZE];
	struct mr_str text;

	mr_str_init(&text, name, sizeof(name));
	reply[3] = 0x80 | SERVFAIL;
	put16(reply + 6, 0);
	return read_name(reply, size, HEADER, &text) + 4;
}
