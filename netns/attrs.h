/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of a message, as bytes
 *
 * What stands in TCA_OPTIONS of a qdisc is built and read by hand, for the library
 * lacks half of it; made apart from any message it can be compared byte by byte.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MR_ATTRS_MAX 512

struct mr_attrs {
	_Alignas(8) uint8_t bytes[MR_ATTRS_MAX];
	size_t n;
};

/* Bytes as they are, padded to 4.  More than MR_ATTRS_MAX altogether is a bug. */
void mr_attrs_raw(struct mr_attrs *attrs, const void *data, size_t size);
void mr_attrs_put(struct mr_attrs *attrs, uint16_t type, const void *data, size_t size);
/* An attribute of attributes: what is put between begin and end. */
size_t mr_attrs_begin(struct mr_attrs *attrs, uint16_t type);
void mr_attrs_end(struct mr_attrs *attrs, size_t begun);

/* One attribute as it was read. */
struct mr_attr {
	uint16_t type; /* without the flags */
	const void *data;
	size_t size;
};
/* The next one from *at on: 1, 0 at the end, -EBADMSG where it is malformed. */
int mr_attrs_next(const void *data, size_t size, size_t *at, struct mr_attr *ret);
/* Up to size bytes of it; what it does not have is zero. */
void mr_attr_copy(const struct mr_attr *attr, void *to, size_t size);
