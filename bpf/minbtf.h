/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minimal BTF: of the kernel's types only those that our programs name
 *
 * libbpf reads all types of the kernel once for each object, tens of milliseconds in
 * all.  Here they are scanned once, and what is kept is a few kilobytes.
 */
#pragma once

#include <stddef.h>

struct btf;
struct mr_error;

/* Write the types and members that the objects name to out_fd, out of the kernel's types (the
 * bytes of /sys/kernel/btf/vmlinux or of such a file; not trusted to be well-formed).  0, or
 * negative errno. */
int mr_minbtf_make(const void *kernel, size_t size, struct btf *const *objects, size_t n_objects,
		   int out_fd, struct mr_error *err);
/* The same from the running kernel. */
int mr_minbtf_make_native(struct btf *const *objects, size_t n_objects, int out_fd,
			  struct mr_error *err);
