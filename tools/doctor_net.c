/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What menace doctor asks of the network: the engines of a link's conditions
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns/link.h"
#include "netns/qdisc.h"
#include "netns/rtnl.h"
#include "netns/tun.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"
#include "tools/doctor.h"

#define LOOKS 100

/* In the order in which they can go. */
static const char *const modules[] = { "cls_bpf", "sch_ingress", "tun" };

static bool is_loaded(const char *module)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return access(path, F_OK) == 0;
}

/* What the kernel has loaded for us goes again, unless others use it by now.  It lets go of a program
 * some time after it was taken away, and tells nobody. */
static void unload(const char *module)
{
	for (int i = 0; i < LOOKS; i++) {
		if (syscall(SYS_delete_module, module, O_NONBLOCK) == 0 ||
		    (errno != EAGAIN && errno != EBUSY))
			return;
		mr_clock_sleep(mr_now_ns() + MR_PATIENCE_NS(DOCTOR_UNLOAD));
	}
}

static void free_rtnl(struct mr_rtnl **rtnl)
{
	mr_rtnl_free(*rtnl);
}

/* In a namespace of our own: the device with all that leads to it. */
static int try_tun(struct mr_error *err)
{
	mr_cleanup(free_rtnl) struct mr_rtnl *rtnl = NULL;
	mr_auto_close int device = -1;
	int r = mr_link_up("lo", err);

	if (r == 0)
		r = mr_rtnl_open(&rtnl, err);
	if (r < 0)
		return r;
	device = mr_tun_open(rtnl, err);
	if (device < 0)
		return device;
	r = mr_qdisc_add(rtnl, MR_QDISC_LO, MR_QDISC_CLSACT, "clsact", NULL, err);
	if (r == 0)
		r = mr_tun_attach(rtnl, err);
	return r < 0 ? r : mr_qdisc_delete(rtnl, MR_QDISC_LO, MR_QDISC_CLSACT, err);
}

void mr_doctor_tun(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;
	bool was_there[N_ELEMENTS(modules)];

	(void)check;
	for (size_t i = 0; i < N_ELEMENTS(modules); i++)
		was_there[i] = is_loaded(modules[i]);
	if (unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) < 0)
		mr_doctor_say_missing(answer, errno, NULL);
	else if (try_tun(&err) < 0)
		mr_doctor_say_missing(answer, err.errnum, "%s", err.msg);
	else
		mr_doctor_say_ok(answer, NULL);
	for (size_t i = 0; i < N_ELEMENTS(modules); i++)
		if (!was_there[i] && is_loaded(modules[i]))
			unload(modules[i]);
}
