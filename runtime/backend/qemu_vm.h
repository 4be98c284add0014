/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VM: one virtual machine, from its start to what came out of it
 *
 *   booting    HELLO is waited for, at most hello_ns; a template has said it already
 *   preparing  it has the errand; STARTED is waited for, within boot_ns of the start
 *   running    bytes go both ways; END is waited for, until the wall limit and some slack
 *   draining   the machine is gone, and what the payload wrote is passed on, at its reader's pace
 *
 * A signal then ends the wait for that reader.
 *
 * The guest is hostile: nothing it says or does not say keeps this from ending in time, and no
 * more is kept of it than one frame, the captures of two streams, and a result of bounded size.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroups/cgroup.h"
#include "runtime/backend/qemu_machine.h"
#include "runtime/backend/qemu_share.h"
#include "runtime/backend/qemu_template.h"
#include "runtime/base/buf.h"
#include "runtime/base/error.h"
#include "runtime/supervise/capture.h"

struct mr_errand;

struct mr_vm_opts {
	const struct mr_errand
		*errand; /* nobody may want it any more; told of a wait for the reader */
	const struct mr_spec *spec; /* as the guest is to read it */
	const char *bin_dir; /* where menace-guest is, among the shared files */
	const struct mr_share *share;
	enum mr_machine_accel accel;
	uint64_t memory_mib;
	unsigned int cpus;
	uint64_t tsc_khz; /* of struct mr_machine_opts; only a machine that boots wants it */
	struct mr_template *template; /* to restore instead of booting; NULL: boot */
	const struct mr_cgroup *group; /* for what is started; NULL: none */
	int kernel_fd, initramfs_fd; /* memfds, to boot from; borrowed like all descriptors */
	int stdin_fd, stdout_fd, stderr_fd; /* the caller's; -1: none */
	int signals_fd; /* signalfd */
	uint64_t boot_ns; /* up to STARTED */
	uint64_t hello_ns; /* of that, up to HELLO; 0: as long */
};

enum mr_vm_end {
	MR_VM_RESULT, /* the guest gave a result */
	MR_VM_FAILED, /* see error */
	MR_VM_WALL, /* past the wall limit, by our clock */
	MR_VM_OUTPUT, /* more output than limits.output_bytes, and the guest did not stop it */
	MR_VM_KILLED, /* a signal asked for it, and the guest did not follow in time */
	MR_VM_ABANDONED,
};

#define MR_VM_CONSOLE_TAIL 4096
struct mr_vm_report {
	enum mr_vm_end end;
	struct mr_error error;
	bool started; /* the payload may have begun */
	bool is_mute; /* QEMU ran, and ended by itself or took too long before HELLO */
	int user_signal; /* the first that asked for an end; 0: none */
	bool was_fed; /* input was taken from the caller */
	bool is_template_bad; /* error says how */
	struct mr_buf result; /* the guest's text */
	struct mr_capture out, err;
	bool output_lost; /* the caller's streams failed, which was said: not all was passed on */
	struct mr_capture console; /* its tail alone */
	char release[64]; /* of the guest's kernel; "" until HELLO */
	uint64_t hello_ns, started_ns, over_ns; /* since the start of the machine; 0: not reached */
	bool has_exit;
	int wait_status; /* of QEMU, if it ended by itself */
};

/* Run it to its end; what was started is gone then.  ret is filled in any case and given back by
 * mr_vm_report_deinit(). */
void mr_vm_run(const struct mr_vm_opts *opts, struct mr_vm_report *ret);
void mr_vm_report_deinit(struct mr_vm_report *report);
