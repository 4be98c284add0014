/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-netd: answers for a sandbox's network
 *
 *   menace-netd MODE
 *
 * Started by menace-run for a run whose network is answered for, or delayed; see
 * netns/netd.h for what it is given.  It reads what a hostile program sends, so it
 * confines itself before the first byte: no capabilities, a user of its own, no file, few
 * system calls, little memory.  One row of modes[] is one mode.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/netd.h"
#include "netns/relay.h"
#include "netns/stub_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "tools/netd_confine.h"

#define CONFIG_MAX (MR_MOCKS_BODIES_MAX + (4 << 20))

static const struct mode {
	const char *name;
	int (*main)(struct mr_netd *netd, mr_netd_confine_fn *confine, struct mr_error *err);
} modes[] = {
	{ "stub", mr_stub_main },
	{ "allowlist", mr_gate_main },
	{ MR_RELAY_MODE, mr_relay_main },
};

static int read_config(struct mr_netd *netd, char **ret, struct mr_error *err)
{
	struct stat st;
	mr_auto_free char *text = NULL;
	ssize_t n;

	if (fstat(MR_NETD_FD_CONFIG, &st) < 0 || st.st_size > CONFIG_MAX)
		return mr_err(err, MR_E_PROTO, EINVAL, "no configuration at descriptor %d",
			      MR_NETD_FD_CONFIG);
	text = mr_str_alloc((size_t)st.st_size + 1);
	n = mr_read_full(MR_NETD_FD_CONFIG, text, (size_t)st.st_size);
	if (n != st.st_size)
		return mr_err(err, MR_E_SYS, n < 0 ? (int)-n : EIO, "read the configuration: %m");
	close(MR_NETD_FD_CONFIG);
	netd->config_size = (size_t)n;
	netd->config = *ret = mr_take_ptr(text);
	return 0;
}

static int confine(struct mr_netd *netd, struct mr_error *err)
{
	struct mr_netd_ready ready = {
		.head = { .type = MR_NETD_READY, .size = sizeof(ready) },
	};
	int r = mr_netd_confine(&ready.landlock_abi, err);

	if (r == 0)
		r = mr_send_msg(netd->channel, &ready, sizeof(ready), NULL, 0);
	return r;
}

static int run(const char *word, struct mr_netd *netd, struct mr_error *err)
{
	mr_auto_free char *config = NULL;
	int r = read_config(netd, &config, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < N_ELEMENTS(modes); i++) {
		if (strcmp(modes[i].name, word) == 0)
			return modes[i].main(netd, confine, err);
	}
	return mr_err(err, MR_E_USAGE, EINVAL, "%.32s is no mode of " MR_NETD_PROGRAM, word);
}

int main(int argc, char **argv)
{
	struct mr_netd netd = { .channel = MR_NETD_FD_CHANNEL };
	struct mr_netd_failed failed = {
		.head = { .type = MR_NETD_FAILED, .size = sizeof(failed) },
		.error = MR_ERROR_INIT,
	};
	int r;

	for (int i = 0; i < MR_DOORS; i++)
		netd.doors[i] = MR_NETD_FD_DOORS + i;
	if (argc != 2 || fcntl(netd.channel, F_SETFL, O_NONBLOCK) < 0) {
		fprintf(stderr, MR_NETD_PROGRAM ": is started by menace-run\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	r = mr_inherit_settle_helper(&failed.error);
	if (r == 0)
		r = run(argv[1], &netd, &failed.error);
	if (r < 0)
		mr_send_msg(netd.channel, &failed, sizeof(failed), NULL, 0);
	/* All memory goes with us, and what else happens at an exit is not on the list of what we may do. */
	_exit(r < 0 ? 1 : 0);
}
