/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: DNS messages, as queries of a payload and as answers of a server
 *
 * Holds: names are those of hosts, a query that was read is answered within its bounds, and the
 * answer is read back to the same addresses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "netns/dnswire.h"
#include "runtime/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name)
{
	char again[MR_RULE_NAME_MAX + 1];

	mr_assert(strlen(name) <= MR_RULE_NAME_MAX);
	if (name[0]) {
		mr_assert(mr_rule_normalise_name(name, strlen(name), again));
		mr_assert(strcmp(name, again) == 0);
	}
}

static void check_query(const uint8_t *data, size_t size)
{
	struct mr_dnswire_answer answer = { .ttl_s = 60, .n = 2 }, back;
	uint8_t buf[MR_DNSWIRE_UDP_MAX];
	struct mr_dnswire_query q;
	size_t n;
	int r = mr_dnswire_read_query(data, size, &q);

	check_name(q.name);
	mr_assert(q.question_size <= sizeof(q.question));
	if (r == -EBADMSG)
		return;
	answer.addresses[0].s6_addr[10] = answer.addresses[0].s6_addr[11] = 0xff;
	answer.addresses[1].s6_addr[0] = 0x20;
	n = mr_dnswire_write_answer(&q, &answer, buf, 512);
	mr_assert(n >= 12 && n <= 512);
	if (r < 0 || !q.name[0] || (q.type != MR_DNS_TYPE_A && q.type != MR_DNS_TYPE_AAAA))
		return;
	mr_assert(mr_dnswire_read_answer(buf, n, q.id, q.name, q.type, &back) == 0);
	mr_assert(back.n == 1 && back.ttl_s == 60 && back.rcode == MR_DNS_NOERROR);
}

static void check_answer(const uint8_t *data, size_t size, uint16_t type)
{
	struct mr_dnswire_answer a;
	uint16_t id = size >= 2 ? (uint16_t)(data[0] << 8 | data[1]) : 0;

	if (mr_dnswire_read_answer(data, size, id, "a.example", type, &a) < 0)
		return;
	mr_assert(a.n <= MR_DNSWIRE_ADDRESSES_MAX);
	for (size_t i = 0; i < a.n; i++)
		mr_assert(type == MR_DNS_TYPE_AAAA || IN6_IS_ADDR_V4MAPPED(&a.addresses[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_query(data, size);
	check_answer(data, size, MR_DNS_TYPE_A);
	check_answer(data, size, MR_DNS_TYPE_AAAA);
	return 0;
}
