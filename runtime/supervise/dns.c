/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS
 *
 * A name is labels, each behind its length, up to one of length 0.  Lengths over 63
 * are pointers into the message (compression) or reserved; in the first question there
 * is nothing before it to point to, so they make no sense here.  Each byte comes from the
 * program under test.
 */
#include "runtime/supervise/dns.h"

#include <stdio.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

#define LABEL_MAX 63
#define NAME_MAX_BYTES 255

static void add_byte(struct mr_str *name, uint8_t c)
{
	if (c == '.' || c == '\\')
		mr_str_printf(name, "\\%c", c);
	else if (c > ' ' && c < 127)
		mr_str_printf(name, "%c", c);
	else
		mr_str_printf(name, "\\%03u", c);
}

/* Bytes of the name with its end; 0: it has none. */
static size_t read_name(const uint8_t *bytes, size_t size, struct mr_str *name)
{
	size_t at = 0;

	while (at < size && at < NAME_MAX_BYTES) {
		size_t len = bytes[at++];

		if (len == 0) {
			if (name->len == 0)
				mr_str_add(name, ".");
			return at;
		}
		if (len > LABEL_MAX || len > size - at || at + len >= NAME_MAX_BYTES)
			return 0;
		if (name->len > 0)
			mr_str_add(name, ".");
		for (size_t i = 0; i < len; i++)
			add_byte(name, bytes[at + i]);
		at += len;
	}
	return 0;
}

void mr_dns_read_question(const uint8_t *bytes, size_t size, struct mr_dns_question *ret)
{
	struct mr_str name;
	size_t n;

	mr_str_init(&name, ret->name, sizeof(ret->name));
	n = read_name(bytes, size, &name);
	ret->malformed = n == 0 || size - n < 4;
	ret->type = ret->malformed ? 0 : (uint16_t)(bytes[n] << 8 | bytes[n + 1]);
}

const char *mr_dns_type_name(uint16_t type, char buf[MR_DNS_TYPE_SIZE])
{
	static const struct {
		uint16_t type;
		const char *name;
	} names[] = {
		{ 1, "A" },	 { 2, "NS" },	  { 5, "CNAME" },   { 6, "SOA" },
		{ 12, "PTR" },	 { 13, "HINFO" }, { 15, "MX" },	    { 16, "TXT" },
		{ 28, "AAAA" },	 { 29, "LOC" },	  { 33, "SRV" },    { 35, "NAPTR" },
		{ 39, "DNAME" }, { 41, "OPT" },	  { 43, "DS" },	    { 44, "SSHFP" },
		{ 46, "RRSIG" }, { 47, "NSEC" },  { 48, "DNSKEY" }, { 50, "NSEC3" },
		{ 52, "TLSA" },	 { 64, "SVCB" },  { 65, "HTTPS" },  { 99, "SPF" },
		{ 251, "IXFR" }, { 252, "AXFR" }, { 255, "ANY" },   { 256, "URI" },
		{ 257, "CAA" },
	};

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (names[i].type == type)
			return names[i].name;
	snprintf(buf, MR_DNS_TYPE_SIZE, "TYPE%u", type);
	return buf;
}
