/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel: a kernel image of the distribution for the guest, and its modules
 *
 * Looked for in a list of places, the newest first in each; MENACE_QEMU_KERNEL names one
 * instead.  Its modules are in lib/modules/RELEASE beside the folder "boot" that it is in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mr_cpio;
struct mr_error;

#define MR_KERNEL_VARIABLE "MENACE_QEMU_KERNEL"

/* How the guest can see files of this host. */
enum mr_kernel_share { MR_SHARE_VIRTIOFS, MR_SHARE_9P };
const char *mr_kernel_share_name(enum mr_kernel_share share);

struct mr_kernel {
	char *image; /* path of the vmlinuz */
	char *release; /* "6.1.0-56-cloud-amd64" */
	char *modules; /* folder */
	bool can[2]; /* by enum mr_kernel_share */
	char *dep, *builtin; /* modules.dep and modules.builtin */
};

/* MR_E_KERNEL: none was found that could be used; the message says where it was looked for, what the
 * last one lacked, and what to do. */
int mr_kernel_find(struct mr_kernel *ret, struct mr_error *err);
void mr_kernel_deinit(struct mr_kernel *kernel);

/* Put the modules that these names need into the archive, in order, as modules/NNN.  Names that
 * are built in add nothing; `wanted` ends with NULL.  MR_E_KERNEL: this kernel has one of them
 * not at all. */
int mr_kernel_pack(const struct mr_kernel *kernel, const char *const *wanted, struct mr_cpio *cpio,
		   struct mr_error *err);
/* In these texts of modules.dep and modules.builtin: is there such a module? */
bool mr_kernel_has(const char *dep, const char *builtin, const char *module);
