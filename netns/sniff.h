/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sniff: which host a connection's first bytes are for
 *
 * A TLS ClientHello (its server_name) or the head of an HTTP request (its Host, its target).
 * What is read is the payload's and is only looked at, never changed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "netns/rules.h"

#define MR_SNIFF_MAX 16384 /* bytes that are enough for any that is not made to be too long */

enum mr_sniff {
	MR_SNIFF_MORE, /* more bytes are needed */
	MR_SNIFF_OTHER, /* neither TLS nor HTTP */
	MR_SNIFF_TLS, /* name is the server name */
	MR_SNIFF_TLS_NO_NAME,
	MR_SNIFF_TLS_ECH, /* it has an encrypted one beside or instead; name as far as it is known */
	MR_SNIFF_TLS_MALFORMED,
	MR_SNIFF_HTTP, /* name is the host */
	MR_SNIFF_HTTP_CONNECT, /* name is the host asked for */
	MR_SNIFF_HTTP_MALFORMED, /* no host, several that differ, or no head of HTTP/1 at all */
};

/* What these bytes begin.  ret_name gets a normalised name, or an address as text, or "". */
enum mr_sniff mr_sniff(const uint8_t *bytes, size_t size, char ret_name[MR_RULE_NAME_MAX + 1]);
