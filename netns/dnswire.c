/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages
 *
 * A message is a head of twelve bytes, questions, and three kinds of records.  A reader never
 * goes beyond its end, and a pointer of a compressed name only ever leads back, so that each name
 * ends.
 */
#include "netns/dnswire.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define HEAD_SIZE 12
#define LABEL_MAX 63
#define WIRE_NAME_MAX 255
#define CLASS_IN 1
#define ALIASES_MAX 8
#define RECORDS_MAX 64
#define UDP_LEAST 512

#define FLAG_ANSWER 0x8000
#define FLAG_OPCODE 0x7800
#define FLAG_TRUNCATED 0x0200
#define FLAG_WANTS_RECURSION 0x0100
#define FLAG_HAS_RECURSION 0x0080
#define FLAG_RCODE 0x000f

struct reader {
	const uint8_t *bytes;
	size_t size, at;
	bool failed;
};

static uint16_t read_u16(struct reader *r)
{
	uint16_t value;

	if (r->failed || r->size - r->at < 2) {
		r->failed = true;
		return 0;
	}
	value = (uint16_t)(r->bytes[r->at] << 8 | r->bytes[r->at + 1]);
	r->at += 2;
	return value;
}

static uint32_t read_u32(struct reader *r)
{
	uint32_t high = read_u16(r);

	return high << 16 | read_u16(r);
}

static void skip(struct reader *r, size_t n)
{
	if (r->failed || r->size - r->at < n)
		r->failed = true;
	else
		r->at += n;
}

static void put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put_u32(uint8_t *at, uint32_t value)
{
	put_u16(at, (uint16_t)(value >> 16));
	put_u16(at + 2, (uint16_t)value);
}

/* A name as text with dots, its bytes as they are but a dot within a label, which no name of a host
 * has: it becomes a space, which fails later.  *longest may be NULL. */
static void read_name(struct reader *r, char text[WIRE_NAME_MAX + 1], size_t *longest)
{
	size_t at = r->at, n = 0, bound = r->size, end = 0;

	while (!r->failed) {
		size_t len = at < r->size ? r->bytes[at] : SIZE_MAX;

		if (len == 0) {
			at++;
			break;
		}
		if (len >= 0xc0 && len <= 0xff && at + 1 < r->size) {
			size_t to = (len & 0x3f) << 8 | r->bytes[at + 1];

			end = end ? end : at + 2;
			r->failed = to >= at || to >= bound; /* back, and further each time */
			bound = at = to;
			continue;
		}
		if (len > LABEL_MAX || len >= r->size - at || n + len + 1 > WIRE_NAME_MAX) {
			r->failed = true;
			break;
		}
		if (n > 0)
			text[n++] = '.';
		for (size_t i = 1; i <= len; i++)
			text[n++] = r->bytes[at + i] == '.' || !r->bytes[at + i]
					    ? ' '
					    : (char)r->bytes[at + i];
		if (longest && len > *longest)
			*longest = len;
		at += len + 1;
	}
	text[r->failed ? 0 : n] = '\0';
	r->at = end ? end : at;
}

/* --- queries ------------------------------------------------------------------------- */

/* What the one additional record of a query may be: EDNS, of which the size counts. */
static void read_edns(struct reader *r, struct mr_dnswire_query *ret)
{
	char owner[WIRE_NAME_MAX + 1];
	uint16_t type, size;

	read_name(r, owner, NULL);
	type = read_u16(r);
	size = read_u16(r);
	if (r->failed || type != MR_DNS_TYPE_OPT || owner[0])
		return;
	if (size > ret->size_max)
		ret->size_max = size > MR_DNSWIRE_UDP_MAX ? MR_DNSWIRE_UDP_MAX : size;
}

int mr_dnswire_read_query(const uint8_t *bytes, size_t size, struct mr_dnswire_query *ret)
{
	struct reader r = { .bytes = bytes, .size = size };
	char text[WIRE_NAME_MAX + 1];
	uint16_t counts[4], class;

	*ret = (struct mr_dnswire_query){ .size_max = UDP_LEAST };
	ret->id = read_u16(&r);
	ret->flags = read_u16(&r);
	for (size_t i = 0; i < 4; i++)
		counts[i] = read_u16(&r);
	if (r.failed || (ret->flags & FLAG_ANSWER))
		return -EBADMSG;
	if ((ret->flags & FLAG_OPCODE) || counts[0] != 1 || counts[1] || counts[2] || counts[3] > 1)
		return -EPROTO;
	read_name(&r, text, &ret->longest_label);
	ret->type = read_u16(&r);
	class = read_u16(&r);
	if (r.failed || r.at - HEAD_SIZE > sizeof(ret->question))
		return -EPROTO;
	ret->question_size = r.at - HEAD_SIZE;
	memcpy(ret->question, bytes + HEAD_SIZE, ret->question_size);
	if (!mr_rule_normalise_name(text, strlen(text), ret->name))
		ret->name[0] = '\0';
	if (counts[3])
		read_edns(&r, ret);
	return class == CLASS_IN && !r.failed ? 0 : -EPROTO;
}

static size_t write_address(const struct in6_addr *address, uint16_t type, uint32_t ttl_s,
			    uint8_t *at)
{
	const size_t size = type == MR_DNS_TYPE_A ? 4 : 16;

	put_u16(at, 0xc000 | HEAD_SIZE); /* the question's name */
	put_u16(at + 2, type);
	put_u16(at + 4, CLASS_IN);
	put_u32(at + 6, ttl_s);
	put_u16(at + 10, (uint16_t)size);
	memcpy(at + 12, &address->s6_addr[16 - size], size);
	return 12 + size;
}

size_t mr_dnswire_write_answer(const struct mr_dnswire_query *query,
			       const struct mr_dnswire_answer *answer, uint8_t *buf, size_t size)
{
	size_t at = HEAD_SIZE + query->question_size;
	uint16_t n = 0;

	mr_assert(size >= UDP_LEAST);
	memset(buf, 0, HEAD_SIZE);
	memcpy(buf + HEAD_SIZE, query->question, query->question_size);
	for (size_t i = 0; i < answer->n && at + 28 <= size; i++) {
		bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(&answer->addresses[i]);

		if (is_ipv4 != (query->type == MR_DNS_TYPE_A))
			continue;
		at += write_address(&answer->addresses[i], query->type, answer->ttl_s, buf + at);
		n++;
	}
	put_u16(buf, query->id);
	put_u16(buf + 2,
		(uint16_t)(FLAG_ANSWER | FLAG_HAS_RECURSION |
			   (query->flags & (FLAG_OPCODE | FLAG_WANTS_RECURSION)) | answer->rcode));
	put_u16(buf + 4, query->question_size > 0);
	put_u16(buf + 6, n);
	return at;
}

/* --- asking outside ------------------------------------------------------------------ */

size_t mr_dnswire_write_query(uint16_t id, const char *name, uint16_t type, uint8_t *buf)
{
	size_t at = HEAD_SIZE;

	memset(buf, 0, HEAD_SIZE);
	put_u16(buf, id);
	put_u16(buf + 2, FLAG_WANTS_RECURSION);
	put_u16(buf + 4, 1);
	while (name[0]) {
		size_t n = strcspn(name, ".");

		mr_assert(n > 0 && n <= LABEL_MAX &&
			  at + n + 6 <= MR_DNSWIRE_QUESTION_MAX + HEAD_SIZE);
		buf[at++] = (uint8_t)n;
		memcpy(buf + at, name, n);
		at += n;
		name += n + (name[n] == '.');
	}
	buf[at++] = 0;
	put_u16(buf + at, type);
	put_u16(buf + at + 2, CLASS_IN);
	return at + 4;
}

struct record {
	char owner[MR_RULE_NAME_MAX + 1]; /* "" when it is no name of a host */
	uint16_t type, class;
	uint32_t ttl_s;
	size_t data, size;
};

static void read_record(struct reader *r, struct record *ret)
{
	char text[WIRE_NAME_MAX + 1];

	read_name(r, text, NULL);
	if (!mr_rule_normalise_name(text, strlen(text), ret->owner))
		ret->owner[0] = '\0';
	ret->type = read_u16(r);
	ret->class = read_u16(r);
	ret->ttl_s = read_u32(r);
	ret->size = read_u16(r);
	ret->data = r->at;
	skip(r, ret->size);
}

/* The record is of the name that is looked for: an address of it, or what it is another name of. */
static void use_record(const struct reader *r, const struct record *record, uint16_t type,
		       char name[MR_RULE_NAME_MAX + 1], struct mr_dnswire_answer *ret)
{
	const size_t size = type == MR_DNS_TYPE_A ? 4 : 16;
	struct reader alias = { .bytes = r->bytes, .size = r->size, .at = record->data };
	char text[WIRE_NAME_MAX + 1];
	struct in6_addr *address;

	if (record->type == MR_DNS_TYPE_CNAME) {
		read_name(&alias, text, NULL);
		if (alias.failed || !mr_rule_normalise_name(text, strlen(text), name))
			name[0] = '\0'; /* leads nowhere */
	} else if (record->type == type && record->size == size &&
		   ret->n < MR_DNSWIRE_ADDRESSES_MAX) {
		address = &ret->addresses[ret->n++];
		memset(address, 0, sizeof(*address));
		if (size == 4)
			address->s6_addr[10] = address->s6_addr[11] = 0xff;
		memcpy(&address->s6_addr[16 - size], r->bytes + record->data, size);
	} else {
		return;
	}
	if (record->ttl_s < ret->ttl_s)
		ret->ttl_s = record->ttl_s;
}

/* All records once, for one name; true when they lead on to another. */
static bool look_through(struct reader r, uint16_t count, uint16_t type,
			 char name[MR_RULE_NAME_MAX + 1], struct mr_dnswire_answer *ret)
{
	char before[MR_RULE_NAME_MAX + 1];

	memcpy(before, name, sizeof(before));
	for (uint16_t i = 0; i < count && i < RECORDS_MAX; i++) {
		struct record record;

		read_record(&r, &record);
		if (r.failed)
			break;
		if (record.class == CLASS_IN && record.owner[0] &&
		    strcmp(record.owner, before) == 0)
			use_record(&r, &record, type, name, ret);
		if (strcmp(before, name) != 0)
			return name[0] != '\0';
	}
	return false;
}

int mr_dnswire_read_answer(const uint8_t *bytes, size_t size, uint16_t id, const char *name,
			   uint16_t type, struct mr_dnswire_answer *ret)
{
	struct reader r = { .bytes = bytes, .size = size };
	char text[WIRE_NAME_MAX + 1], now[MR_RULE_NAME_MAX + 1];
	uint16_t got_id = read_u16(&r), flags = read_u16(&r), counts[4], got_type, class;

	for (size_t i = 0; i < 4; i++)
		counts[i] = read_u16(&r);
	if (r.failed || got_id != id || !(flags & FLAG_ANSWER) || counts[0] != 1)
		return -EPROTO;
	read_name(&r, text, NULL);
	got_type = read_u16(&r);
	class = read_u16(&r);
	if (r.failed || !mr_rule_normalise_name(text, strlen(text), now) ||
	    strcmp(now, name) != 0 || got_type != type || class != CLASS_IN)
		return -EPROTO;
	*ret = (struct mr_dnswire_answer){ .rcode = (enum mr_dns_rcode)(flags & FLAG_RCODE),
					   .truncated = flags & FLAG_TRUNCATED,
					   .ttl_s = UINT32_MAX };
	for (int i = 0; i <= ALIASES_MAX; i++) {
		if (!look_through(r, counts[1], type, now, ret))
			break;
	}
	return 0;
}
