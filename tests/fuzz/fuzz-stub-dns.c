/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the datagrams a responder's resolver reads
 *
 * Holds: an answer fits, has the query's id and says that it is one, and the name is
 * printable.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "netns/mock.h"
#include "netns/stub_dns.h"
#include "runtime/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mr_error err = MR_ERROR_INIT;
	uint8_t reply[MR_DNS_REPLY_MAX];
	char name[MR_DNS_NAME_SIZE];
	struct mr_mocks mocks = { 0 };
	enum mr_dns_outcome outcome;
	struct mr_mock mock;
	size_t n;

	mr_assert(mr_mock_parse("a.example=reset", &mock, &err) == 0);
	mr_assert(mr_mocks_add(&mocks, &mock, &err) == 0);
	outcome = mr_stub_dns_answer(&mocks, size % 2, data, size, reply, &n, name);
	mr_assert(n <= sizeof(reply) && (outcome == MR_DNS_IGNORED) == (n == 0));
	mr_assert(n == 0 || (n >= 12 && memcmp(reply, data, 2) == 0 && reply[2] & 0x80));
	mr_assert(outcome != MR_DNS_FOUND || strcmp(name, "a.example") == 0);
	for (const char *p = name; *p; p++)
		mr_assert(*p > 0x20 && *p < 0x7f);
	mr_assert(outcome != MR_DNS_FOUND || mr_stub_dns_fail(reply, n) <= n);
	mr_mocks_deinit(&mocks);
	return 0;
}
