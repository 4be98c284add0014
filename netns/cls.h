/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cls: programs of our own on a link (tc-BPF)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;
struct mr_rtnl;

#define MR_CLS_LEAVING 0xFFFFFFF3U /* parents below clsact: of what leaves by the link ... */
#define MR_CLS_ARRIVING 0xFFFFFFF2U /* ... and of what arrives there */

struct mr_cls_program {
	const char *name; /* as the kernel shows it: at most 15 bytes of it */
	uint32_t parent; /* MR_CLS_... */
	uint32_t turn; /* the order of those at one place, from 1 on */
	const unsigned char *code; /* its instructions */
	size_t size;
};
#define MR_CLS_CODE_MAX 8192

/* Load the program and put it on the link, which has a clsact.  map: what its one map is, or -1.
 * Needs CAP_BPF and CAP_NET_ADMIN over the first user namespace. */
int mr_cls_attach(struct mr_rtnl *rtnl, int ifindex, const struct mr_cls_program *program, int map,
		  struct mr_error *err);
