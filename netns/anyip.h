/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AnyIP: addresses that the loopback link of a network namespace answers for
 *
 * Works on the namespace of the calling task; needs CAP_NET_ADMIN over it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;

struct mr_anyip_prefix {
	int family; /* AF_INET, AF_INET6 */
	uint8_t address[16]; /* the first 4 for AF_INET */
	unsigned int length; /* bits; 0: everything */
};

/* Make each prefix local.  1 when those of IPv6 were left out since IPv6 is switched off. */
int mr_anyip_add(const struct mr_anyip_prefix *prefixes, size_t n, struct mr_error *err);
/* How many routes that mr_anyip_add() made the kernel shows. */
int mr_anyip_count(unsigned int *ret, struct mr_error *err);
