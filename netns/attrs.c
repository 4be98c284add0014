/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes
 *
 * The kernel's rule: a header of two 16-bit numbers, the length with it, everything
 * aligned to four bytes.
 */
#include "netns/attrs.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>

#include "runtime/base/error.h"

void mr_attrs_raw(struct mr_attrs *attrs, const void *data, size_t size)
{
	mr_assert(attrs->n + NLA_ALIGN(size) <= sizeof(attrs->bytes));
	memset(attrs->bytes + attrs->n, 0, NLA_ALIGN(size));
	memcpy(attrs->bytes + attrs->n, data, size);
	attrs->n += NLA_ALIGN(size);
}

void mr_attrs_put(struct mr_attrs *attrs, uint16_t type, const void *data, size_t size)
{
	const struct nlattr header = { .nla_len = (uint16_t)(NLA_HDRLEN + size), .nla_type = type };

	mr_attrs_raw(attrs, &header, sizeof(header));
	mr_attrs_raw(attrs, data, size);
}

size_t mr_attrs_begin(struct mr_attrs *attrs, uint16_t type)
{
	const size_t at = attrs->n;

	mr_attrs_put(attrs, type | NLA_F_NESTED, "", 0);
	return at;
}

void mr_attrs_end(struct mr_attrs *attrs, size_t begun)
{
	const uint16_t size = (uint16_t)(attrs->n - begun);

	memcpy(attrs->bytes + begun, &size, sizeof(size));
}

int mr_attrs_next(const void *data, size_t size, size_t *at, struct mr_attr *ret)
{
	struct nlattr header;

	if (*at >= size)
		return 0;
	if (size - *at < NLA_HDRLEN)
		return -EBADMSG;
	memcpy(&header, (const char *)data + *at, sizeof(header));
	if (header.nla_len < NLA_HDRLEN || header.nla_len > size - *at)
		return -EBADMSG;
	*ret = (struct mr_attr){ .type = header.nla_type & NLA_TYPE_MASK,
				 .data = (const char *)data + *at + NLA_HDRLEN,
				 .size = header.nla_len - NLA_HDRLEN };
	*at += NLA_ALIGN(header.nla_len);
	return 1;
}

void mr_attr_copy(const struct mr_attr *attr, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, attr->data, attr->size < size ? attr->size : size);
}
