/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disk: a run in a machine that boots from a disk image of the user's
 *
 * From an errand to a result, as qemu.h does it with a kernel of a distribution.  The image is
 * opened read-only and judged (qemu_qcow2.h), what the guest writes goes to an overlay without a
 * name (qemu_overlay.h), and the image's own agent is told what to run (qemu_agent.h).
 */
#pragma once

#include "runtime/backend/qemu.h"

/* 0, or why not; facts (may be NULL): what was found, new reference. */
int mr_disk_probe(const struct mr_qemu_opts *opts, struct json_t **ret_facts, struct mr_error *err);
/* The result, whatever happens; new reference.  Reason skipped: nothing has run, because the system
 * that was asked for cannot be had here (no QEMU, no image) or its image has no agent; setup_error:
 * the image or the request was refused, or something failed.  NULL: nobody wants it any more. */
struct json_t *mr_disk_run(const struct mr_qemu_opts *opts);
