/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: the resolver of mocked names
 *
 * A mocked name has one IPv4 address and nothing else; every other name does not exist.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_mocks;

#define MR_DNS_REPLY_MAX 512
#define MR_DNS_NAME_SIZE 1024 /* of a name as text: "\ddd" for what is not printable */

enum mr_dns_outcome {
	MR_DNS_IGNORED, /* no query: nothing is to be sent */
	MR_DNS_MALFORMED, /* answered so: FORMERR or NOTIMP */
	MR_DNS_FOUND, /* a mocked name; answered, perhaps with no address of that type */
	MR_DNS_UNKNOWN, /* answered NXDOMAIN */
};

/* The answer to a datagram of n hostile bytes; without_ipv6: no name has such an address.  name gets what was asked for, lower case, where
 * it could be read, else "". */
enum mr_dns_outcome mr_stub_dns_answer(const struct mr_mocks *mocks, bool without_ipv6,
				       const uint8_t *query, size_t n,
				       uint8_t reply[MR_DNS_REPLY_MAX], size_t *ret_size,
				       char name[MR_DNS_NAME_SIZE]);
/* Of such an answer to one question, one that says that it cannot be had: its size. */
size_t mr_stub_dns_fail(uint8_t *reply, size_t size);
