/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-guest: the first program of the virtual machine of menace-qemu
 *
 *   main, as process 1 from the initramfs
 *     mr_guest_make_mounts  /proc and the like
 *     mr_guest_open_port    modules; the serial port
 *     mr_guest_prepare      programs for the kernel, and what else no run has a part in
 *     mr_guest_serve        frames of runtime/backend/qemu_wire.h
 *       mr_guest_enter_tree   the host's files, read-only, below a tmpfs
 *       mr_guest_run          in a process of its own: the run itself, as menace-run does it
 *
 * It is linked statically: the initramfs has nothing else but menace-probe-load.
 */
#include <stdio.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/log.h"
#include "tools/guest.h"

/* QEMU runs with -no-reboot: this ends it. */
static void end_machine(void)
{
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static int serve(struct mr_error *err)
{
	mr_auto_close int port = -1;
	int r = mr_guest_make_mounts(err);

	if (r < 0)
		return r;
	port = mr_guest_open_port(err);
	if (port < 0)
		return port;
	mr_guest_prepare();
	mr_guest_serve(port);
	return 0;
}

static int boot(void)
{
	struct mr_error err = MR_ERROR_INIT;

	if (serve(&err) < 0)
		mr_log_error("%s", err.msg);
	end_machine();
	return 1;
}

int main(void)
{
	struct mr_error err = MR_ERROR_INIT;

	mr_log_init("menace-guest", MR_LOG_NOTICE, MR_LOG_TEXT);
	if (mr_inherit_settle_helper(&err) < 0)
		mr_log_error("%s", err.msg); /* a machine's first process goes on */
	if (getpid() == 1)
		return boot();
	fputs("menace-guest: menace-qemu starts this inside of its virtual machine\n", stderr);
	return 2;
}
