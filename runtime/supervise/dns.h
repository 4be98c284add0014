/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS: a question as it lies on the wire, as text
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A name is 255 bytes at most; each may become four characters. */
#define MR_DNS_NAME_SIZE 1024

struct mr_dns_question {
	char name[MR_DNS_NAME_SIZE]; /* "www.example.org", "." for the root */
	uint16_t type;
	bool malformed; /* name is what could be read before it made no sense; type is 0 */
};

/* The name has the form of RFC 1035, section 5.1: a dot inside of a label is "\.", a backslash "\\",
 * and what is not printable ASCII, "\DDD". */
void mr_dns_read_question(const uint8_t *bytes, size_t size, struct mr_dns_question *ret);

/* "A", "AAAA", ..., "TYPE12345" (RFC 3597) for those without a name here. */
#define MR_DNS_TYPE_SIZE 16
const char *mr_dns_type_name(uint16_t type, char buf[MR_DNS_TYPE_SIZE]);
