/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-guest: the first program of the virtual machine of menace-qemu
 *
 *   main, as process 1 from the initramfs
 *     mr_guest_open_port    modules; the serial port
 *     mr_guest_serve        frames of runtime/backend/qemu_wire.h
 *       mr_guest_enter_tree   the host's files, read-only, below a tmpfs
 *       "menace-guest run"    from there: the run itself, as menace-run does it
 *
 * It is linked statically: the initramfs has nothing else.
 */
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "tools/guest.h"

/* QEMU runs with -no-reboot: this ends it. */
static void end_machine(void)
{
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static int boot(void)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_close int port = mr_guest_open_port(&err);

	if (port < 0)
		mr_log_error("%s", err.msg);
	else
		mr_guest_serve(port);
	end_machine();
	return 1;
}

int main(int argc, char **argv)
{
	mr_log_init("menace-guest", MR_LOG_NOTICE, MR_LOG_TEXT);
	if (argc == 2 && strcmp(argv[1], "run") == 0)
		return mr_guest_run();
	if (getpid() == 1)
		return boot();
	fputs("menace-guest: menace-qemu starts this inside of its virtual machine\n", stderr);
	return 2;
}
