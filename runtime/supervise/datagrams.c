/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams
 *
 * Without a network and among mocks connect and sendto are refused before they reach the guard
 * (notify.c), so what comes by it is new: datagrams of sendmsg and sendmmsg, a stream opened by
 * sendmsg (MSG_FASTOPEN), and what was another address when it was looked at.  With loopback alone
 * all comes by it.  A flood costs each turn of the loop one ring at most, and
 * what finds no room there is in the sums.
 *
 * A socket that was made elsewhere and handed to the payload by somebody outside is not the
 * group's: it is what whoever handed it over has given.
 */
#include "runtime/supervise/datagrams.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "bpf/guard.h"
#include "netns/rules.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/str.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/state.h"

#define V4_MAPPED_BITS 96

struct mr_datagrams {
	struct mr_guard guard;
	struct mr_source ring; /* of the guard */
	char why[256]; /* there is none, or "" */
};

/* Is it ours to tell?  An allow-list has a guard of its own (gate.c), of the host's network nothing
 * is refused. */
static bool is_watched(const struct mr_run *run)
{
	return run->spec->net_mode == MR_NET_NONE || run->spec->net_mode == MR_NET_STUB ||
	       run->spec->net_mode == MR_NET_LOOPBACK;
}

/* --- what was refused ------------------------------------------------------------------ */

static bool is_local(const struct in6_addr *address)
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		return address->s6_addr[12] == IN_LOOPBACKNET || address->s6_addr32[3] == 0;
	return IN6_IS_ADDR_UNSPECIFIED(address) || IN6_IS_ADDR_LOOPBACK(address);
}

static void take_refused(void *owner, const struct mr_guard_event *e)
{
	struct mr_run *run = owner;
	struct mr_denial denial =
		mr_notify_no_route((unsigned int)run->spec->net_mode, is_local(&e->address));
	char address[INET6_ADDRSTRLEN], object[INET6_ADDRSTRLEN + 16], comm[sizeof(e->comm) + 1];

	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(e->comm), e->comm);
	mr_rule_print_address(&e->address, address);
	denial.port = ntohs((uint16_t)e->port);
	snprintf(object, sizeof(object), strchr(address, ':') ? "[%s]:%u" : "%s:%u", address,
		 denial.port);
	denial.what = mr_guard_call((enum mr_guard_hook)e->hook);
	denial.object = object;
	denial.address = address;
	denial.pid = (pid_t)e->pid;
	denial.comm = comm;
	denial.time_ns = mr_now_ns();
	mr_denials_add(&run->denials, &denial);
}

static void on_refused(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;

	(void)events;
	mr_guard_read(&run->datagrams->guard, take_refused, run);
}

/* --- the guard --------------------------------------------------------------------------- */

static int allow(struct mr_guard *guard, const struct mr_anyip_prefix *prefixes, size_t n,
		 struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const bool is_v4 = prefixes[i].family == AF_INET;
		struct in6_addr address = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

		memcpy(&address.s6_addr[is_v4 ? 12 : 0], prefixes[i].address, is_v4 ? 4 : 16);
		r = mr_guard_allow(guard, &address,
				   prefixes[i].length + (is_v4 ? V4_MAPPED_BITS : 0), NULL, 0, err);
	}
	return r;
}

/* What mocks have is the network's to answer; with loopback alone a program may have groups there,
 * if it says so, and only the kernel knows. */
static int allow_own(struct mr_run *run, struct mr_error *err)
{
	static const struct mr_anyip_prefix groups[] = {
		{ .family = AF_INET, .address = { 224 }, .length = 4 },
		{ .family = AF_INET, .address = { 255, 255, 255, 255 }, .length = 32 },
		{ .family = AF_INET6, .address = { 0xff }, .length = 8 },
	};
	mr_auto_free struct mr_anyip_prefix *mocked = NULL;
	size_t n;

	if (run->spec->net_mode == MR_NET_LOOPBACK)
		return allow(&run->datagrams->guard, groups, N_ELEMENTS(groups), err);
	n = run->network->mode->make_prefixes(run, &mocked);
	return allow(&run->datagrams->guard, mocked, n, err);
}

static int attach(struct mr_run *run, struct mr_error *err)
{
	struct mr_datagrams *d = run->datagrams;
	const enum mr_guard_kind kind =
		run->spec->net_mode == MR_NET_NONE ? MR_GUARD_NOTHING : MR_GUARD_LISTED;
	int r;

	if (!run->cgroup)
		return mr_err(err, MR_E_KERNEL, ENOENT, "the run has no control group");
	r = mr_guard_attach(&d->guard, kind, mr_cgroup_v2_fd(run->cgroup), err);
	if (r == 0)
		r = mr_guard_verify(&d->guard, mr_cgroup_id(run->cgroup), err);
	if (r == 0 && kind == MR_GUARD_LISTED)
		r = allow_own(run, err);
	if (r == 0)
		r = mr_loop_add(run->host->loop, &d->ring, d->guard.ring.fd, EPOLLIN, on_refused,
				run, err);
	return r;
}

void mr_datagrams_watch(void *owner)
{
	struct mr_run *run = owner;
	struct mr_error err = MR_ERROR_INIT;

	if (run->datagrams || !is_watched(run))
		return;
	run->datagrams = mr_str_alloc(sizeof(*run->datagrams));
	run->datagrams->guard = (struct mr_guard)MR_GUARD_INIT;
	run->datagrams->ring.fd = -1;
	if (attach(run, &err) == 0)
		return;
	mr_guard_detach(&run->datagrams->guard);
	snprintf(run->datagrams->why, sizeof(run->datagrams->why), "%.*s",
		 (int)sizeof(run->datagrams->why) - 1, err.msg);
}

uint64_t mr_datagrams_lose(struct mr_run *run, const struct mr_guard *guard)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < MR_GUARD_HOOK_KINDS_; i++) {
		const enum mr_guard_hook hook = (enum mr_guard_hook)i;
		const uint64_t lost = mr_guard_lost(guard, hook);

		mr_denials_lose(&run->denials, MR_DENIAL_NETWORK, mr_guard_call(hook), lost);
		sum += lost;
	}
	return sum;
}

void mr_datagrams_finish(struct mr_run *run)
{
	struct mr_datagrams *d = run->datagrams;

	if (!d)
		return;
	mr_guard_read(&d->guard, take_refused, run);
	mr_datagrams_lose(run, &d->guard);
	mr_loop_remove(run->host->loop, &d->ring);
	mr_guard_detach(&d->guard);
}

void mr_datagrams_free(struct mr_run *run)
{
	free(run->datagrams);
	run->datagrams = NULL;
}

static const char *why_unseen(const struct mr_run *run)
{
	const bool has_run = run->go_ns != 0, was_asked = run->notify.req_size != 0;

	if (run->datagrams)
		return run->datagrams->why[0] ? run->datagrams->why : NULL;
	if (has_run && !was_asked && is_watched(run))
		return "another seccomp listener is above us: nobody asks about internet sockets";
	return NULL;
}

struct mr_unseen_part mr_datagrams_unseen(const struct mr_run *run)
{
	return (struct mr_unseen_part){
		.what = run->spec->net_mode == MR_NET_LOOPBACK
				? "connections and datagrams that would leave loopback"
				: "datagrams sent by sendmsg and sendmmsg",
		.why = why_unseen(run),
	};
}
