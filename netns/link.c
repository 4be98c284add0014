/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links
 *
 * One ioctl does what a netlink library would; rtnetlink comes with shaping.
 */
#include "netns/link.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

int mr_link_up(const char *name, struct mr_error *err)
{
	mr_auto_close int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = { 0 };

	if (sock < 0)
		return mr_err(err, MR_E_SYS, errno, "socket for link %s: %m", name);
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	if (ioctl(sock, SIOCGIFFLAGS, &req) < 0)
		return mr_err(err, MR_E_SYS, errno, "flags of link %s: %m", name);
	req.ifr_flags |= IFF_UP;
	if (ioctl(sock, SIOCSIFFLAGS, &req) < 0)
		return mr_err(err, MR_E_SYS, errno, "set link %s up: %m", name);
	return 0;
}
