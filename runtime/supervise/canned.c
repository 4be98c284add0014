/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canned: --net stub, the supervisor's side
 *
 * The bodies are read with the rights of whoever runs us, before anything is started, and go
 * to menace-netd in its configuration.  The authority it made is put where the payload
 * finds it; without it nothing starts.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netns/rules.h"
#include "netns/stub_lane.h"
#include "netns/stub_wire.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/supervise/commands.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/state.h"
#include "runtime/supervise/whose.h"

struct canned {
	struct mr_mocks mocks; /* loaded, and once they are handed over without bodies */
	struct mr_stub_count *counts;
	struct mr_commands *commands; /* NULL: no mock is by one */
	bool counted; /* menace-netd told them all */
	char *pem;
	uint64_t denied, lost, looks_left_out;
	uint64_t seed, delay_ns;
};

/* One seed decides of a whole run, unless the mocks have one of their own. */
static uint64_t seed_of(struct mr_run *run)
{
	if (run->spec->net_mock_seed != MR_UNSET)
		return run->spec->net_mock_seed;
	if (mr_mocks_are_injected(run))
		return run->failures.seed;
	return run->spec->net_seed != MR_UNSET ? run->spec->net_seed : 0;
}

static void drop_bodies(struct mr_mocks *mocks)
{
	for (size_t i = 0; i < mocks->n; i++) {
		free(mocks->v[i].body);
		mocks->v[i].body = NULL;
		for (size_t j = 0; j < MR_MOCK_DRIFTS; j++) {
			free(mocks->v[i].drifts[j]);
			mocks->v[i].drifts[j] = NULL;
		}
	}
}

static int open_commands(struct mr_run *run, struct canned *canned, struct mr_error *err)
{
	struct mr_network *network = run->network;
	bool any = false;
	int r;

	for (size_t i = 0; i < canned->mocks.n; i++)
		any = any || canned->mocks.v[i].by_command;
	if (!any)
		return 0;
	r = mr_commands_new(run, &canned->mocks, network->more, &canned->commands, err);
	if (r == 0)
		network->n_more = MR_STUB_LANES;
	return r;
}

static int begin(struct mr_run *run, char **ret_config, struct mr_error *err)
{
	struct canned *canned = mr_str_alloc(sizeof(*canned));
	struct mr_stub_config config = {
		.delay_ns = run->spec->net_api_latency_ms * 1000,
		.seed = seed_of(run),
		.without_ipv6 = run->network->doors.without_ipv6 != 0,
	};
	struct mr_buf buf = { 0 };
	int r;

	run->network->state = canned;
	mr_mocks_copy(&canned->mocks, &run->spec->mocks);
	canned->counts = mr_str_alloc((canned->mocks.n + 1) * sizeof(*canned->counts));
	r = mr_mocks_load(&canned->mocks, err);
	if (r == 0)
		r = open_commands(run, canned, err);
	if (r < 0)
		return r;
	config.lanes = run->network->n_more;
	mr_inject_into_mocks(run, &canned->mocks, &config);
	canned->seed = config.seed;
	canned->delay_ns = config.delay_ns;
	for (size_t i = 0; i < run->spec->net_faults.n; i++)
		config.faults_size += strlen(run->spec->net_faults.v[i]) + 1;
	mr_buf_addn(&buf, (const char *)&config, sizeof(config));
	for (size_t i = 0; i < run->spec->net_faults.n; i++)
		mr_buf_addn(&buf, run->spec->net_faults.v[i],
			    strlen(run->spec->net_faults.v[i]) + 1);
	mr_mocks_pack(&canned->mocks, &buf);
	drop_bodies(&canned->mocks);
	run->network->config_size = buf.len;
	*ret_config = buf.text;
	return 0;
}

static bool has_prefix(const struct mr_anyip_prefix *made, size_t n,
		       const struct mr_anyip_prefix *prefix)
{
	for (size_t i = 0; i < n; i++)
		if (made[i].family == prefix->family &&
		    memcmp(made[i].address, prefix->address, sizeof(prefix->address)) == 0)
			return true;
	return false;
}

/* A name's own addresses: what is not mocked has no route. */
static size_t make_prefixes(const struct mr_run *run, struct mr_anyip_prefix **ret)
{
	const struct mr_mocks *mocks = &run->spec->mocks;
	struct mr_anyip_prefix *made = mr_str_alloc((2 * mocks->n + 1) * sizeof(*made));
	size_t n = 0;

	for (size_t i = 0; i < 2 * mocks->n; i++) {
		const bool ipv4 = i % 2 == 0;
		const size_t size = ipv4 ? 4 : 16;
		struct mr_anyip_prefix prefix = { .family = ipv4 ? AF_INET : AF_INET6,
						  .length = ipv4 ? 32 : 128 };
		struct in6_addr address;

		if (!mr_mocks_address(mocks, mocks->v[i / 2].host, prefix.family, &address))
			continue;
		memcpy(prefix.address, &address.s6_addr[16 - size], size);
		if (!has_prefix(made, n, &prefix))
			made[n++] = prefix;
	}
	*ret = made;
	return n;
}

/* Into the file that the sandbox's side made for it. */
static int write_authority(struct mr_run *run, const char *pem, struct mr_error *err)
{
	static const char path[] = MR_LAUNCH_MOCKS_POOL "/" MR_LAUNCH_MOCKS_CA;
	mr_auto_close int fd = openat(run->pool_fd, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open the authority's file: %m");
	r = mr_write_full(fd, pem, strlen(pem));
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write the authority's file: %m") : 0;
}

static int verify(struct mr_run *run, struct mr_error *err)
{
	struct canned *canned = run->network->state;

	if (!canned->pem)
		return mr_err(err, MR_E_PROTO, EPROTO, MR_NETD_PROGRAM " made no authority");
	return write_authority(run, canned->pem, err);
}

static void take_authority(struct canned *canned, const struct mr_netd_head *head)
{
	struct mr_stub_authority message;

	if (head->size != sizeof(message) || canned->pem)
		return;
	memcpy(&message, head, sizeof(message));
	canned->pem = mr_str_ndup(message.pem, strnlen(message.pem, sizeof(message.pem) - 1));
}

/* One look in a turn of the loop: deadlines wait no longer than for that. */
static void look_who(struct mr_run *run, const struct mr_stub_denied *d, struct mr_who *ret)
{
	struct canned *canned = run->network->state;
	const bool udp = IN6_IS_ADDR_UNSPECIFIED(&d->address);
	struct mr_whose whose = { .protocol = udp ? IPPROTO_UDP : IPPROTO_TCP,
				  .remote = d->address,
				  .local_port = d->source_port,
				  .remote_port = d->port };

	mr_whose_socket(&run->host->looks, run->launched.init_pid, run->cgroup, &whose, ret);
	canned->looks_left_out += ret->left_out;
	if (ret->looked)
		mr_netd_rest(&run->network->netd);
}

/* Whoever it was may be answered now. */
static void acknowledge(struct mr_run *run, uint32_t id)
{
	struct mr_stub_ack ack = {
		.head = { .type = MR_STUB_ACK, .size = sizeof(ack) },
		.id = id,
	};

	/* If it cannot be told now, it goes on by itself after a while. */
	mr_netd_send(&run->network->netd, &ack.head);
}

/* "GET http://a/x ([2001:2::1]:80)" */
static char *describe(const struct mr_stub_denied *d, const char *address)
{
	if (!address[0])
		return mr_str_dup(d->object);
	return mr_str_format(strchr(address, ':') ? "%s ([%s]:%u)" : "%s (%s:%u)", d->object,
			     address, d->port);
}

static void take_denied(struct mr_run *run, const struct mr_netd_head *head)
{
	struct canned *canned = run->network->state;
	mr_auto_free char *object = NULL;
	struct mr_denial denial = { .layer = MR_DENIAL_NETWORK, .time_ns = mr_now_ns() };
	char address[INET6_ADDRSTRLEN] = "", reason[200];
	struct mr_who who;
	struct mr_stub_denied d;

	if (head->size != sizeof(d))
		return;
	memcpy(&d, head, sizeof(d));
	d.op[sizeof(d.op) - 1] = d.rule[sizeof(d.rule) - 1] = '\0';
	d.name[sizeof(d.name) - 1] = d.reason[sizeof(d.reason) - 1] = '\0';
	d.object[sizeof(d.object) - 1] = '\0';
	canned->denied++;
	if (!IN6_IS_ADDR_UNSPECIFIED(&d.address))
		mr_rule_print_address(&d.address, address);
	object = describe(&d, address);
	look_who(run, &d, &who);
	acknowledge(run, d.id);
	denial.pid = who.pid;
	denial.comm = who.pid ? who.comm : NULL;
	snprintf(reason, sizeof(reason), "%s%s%s%s", d.reason,
		 who.pid ? "" : " (who asked is not known: ", who.pid ? "" : who.why,
		 who.pid ? "" : ")");
	denial.address = address[0] ? address : NULL;
	denial.port = address[0] ? d.port : 0;
	denial.name = d.name[0] ? d.name : NULL;
	denial.what = d.op;
	denial.object = object;
	denial.rule = d.rule;
	denial.reason = reason;
	denial.allow = strcmp(d.rule, "no mock") == 0 ? "--mock TARGET=ACTION" : NULL;
	mr_denials_add(&run->denials, &denial);
}

static void take_counts(struct canned *canned, const struct mr_netd_head *head)
{
	struct mr_stub_counts message;

	if (head->size != sizeof(message))
		return;
	memcpy(&message, head, sizeof(message));
	if (message.n > MR_STUB_COUNTS_MAX || message.first > canned->mocks.n ||
	    message.n > canned->mocks.n - message.first)
		return;
	memcpy(canned->counts + message.first, message.counts, message.n * sizeof(*canned->counts));
}

static void take_lost(struct canned *canned, const struct mr_netd_head *head)
{
	struct mr_stub_lost message;

	if (head->size != sizeof(message))
		return;
	memcpy(&message, head, sizeof(message));
	canned->lost = message.denials;
	canned->counted = true;
}

static void take_unusable(struct canned *canned, const struct mr_netd_head *head)
{
	struct mr_stub_unusable message;

	if (head->size != sizeof(message))
		return;
	memcpy(&message, head, sizeof(message));
	message.why[sizeof(message.why) - 1] = '\0';
	mr_commands_unusable(canned->commands, message.mock, message.why);
}

static void on_message(struct mr_run *run, const struct mr_netd_head *head)
{
	struct canned *canned = run->network->state;

	switch ((enum mr_stub_message)head->type) {
	case MR_STUB_AUTHORITY:
		take_authority(canned, head);
		break;
	case MR_STUB_DENIED:
		take_denied(run, head);
		break;
	case MR_STUB_COUNTS:
		take_counts(canned, head);
		break;
	case MR_STUB_LOST:
		take_lost(canned, head);
		break;
	case MR_STUB_UNUSABLE:
		take_unusable(canned, head);
		break;
	case MR_STUB_ACK: /* is ours to say */
		break;
	}
}

static void stop(struct mr_run *run)
{
	const struct canned *canned = run->network->state;

	mr_commands_stop(canned->commands);
}

/* The program asked elsewhere, or not at all: whoever required the mock has not tried what was meant. */
static void tell_unused(struct mr_run *run, const struct mr_mock *mock)
{
	if (!run->spec->net_mocks_required) {
		mr_log_notice("mock %s: was never asked", mock->target);
		return;
	}
	run->facts.mock_unused = true;
	mr_log_error("mock %s: was never asked, and net.mocks_required says that it has to be "
		     "(unused_mock)",
		     mock->target);
}

/* Who knows of none that it was asked cannot say that all were. */
static void tell_unknown(struct mr_run *run, const struct canned *canned)
{
	if (!run->spec->net_mocks_required || canned->mocks.n == 0)
		return;
	run->facts.mock_unused = true;
	mr_log_error("which mocks were asked is not known, and net.mocks_required says that each "
		     "has to be (unused_mock)");
}

static void finish(struct mr_run *run)
{
	const struct canned *canned = run->network->state;

	/* Refused faster than could be told one by one: in the sums. */
	mr_denials_lose(&run->denials, MR_DENIAL_NETWORK, "untold", canned->lost);
	for (size_t i = 0; canned->counted && i < canned->mocks.n; i++)
		mr_commands_count_unusable(canned->commands, i, canned->counts[i].unusable);
	mr_commands_tell(canned->commands);
	if (run->facts.setup_failed)
		return;
	if (!canned->counted)
		tell_unknown(run, canned);
	for (size_t i = 0; canned->counted && i < canned->mocks.n; i++)
		if (!canned->counts[i].hits)
			tell_unused(run, &canned->mocks.v[i]);
}

const struct mr_stub_count *mr_canned_counts(const struct mr_run *run, size_t *ret_n)
{
	const struct canned *canned =
		run->network && run->network->mode == &mr_canned_mode ? run->network->state : NULL;

	if (!canned || !canned->counted)
		return NULL;
	*ret_n = canned->mocks.n;
	return canned->counts;
}

static json_t *count(const struct canned *canned, uint64_t value)
{
	return canned->counted ? json_integer((json_int_t)value) : json_null();
}

static json_t *mock_json(const struct canned *canned, size_t i)
{
	const struct mr_mock *mock = &canned->mocks.v[i];
	const struct mr_stub_count *c = &canned->counts[i];
	char fail[MR_MOCK_FAIL_SIZE];
	json_t *object;

	object = json_pack("{s:s, s:o, s:o, s:o, s:s?, s:o}", "target", mock->target, "hits",
			   count(canned, c->hits), "body_bytes", count(canned, c->bytes),
			   "failures", count(canned, c->failures), "fail",
			   mock->fault ? mr_mock_fail_text(mock, fail) : NULL, "unused",
			   canned->counted ? json_boolean(!c->hits) : json_null());
	if (canned->commands && mock->by_command)
		json_object_set_new(object, "exec", mr_commands_to_json(canned->commands, i));
	return object;
}

static json_t *to_json(const struct mr_run *run)
{
	const struct canned *canned = run->network->state;
	json_t *mocks = json_array();

	for (size_t i = 0; i < canned->mocks.n; i++)
		json_array_append_new(mocks, mock_json(canned, i));
	return mocks;
}

static json_t *receipt(const struct mr_run *run)
{
	const struct canned *canned = run->network->state;
	char hash[MR_HASH_HEX_SIZE];

	if (canned->pem)
		mr_hash_hex(canned->pem, strlen(canned->pem), hash);
	return json_pack("{s:i, s:s, s:s?, s:f, s:I, s:I, s:o, s:I}", "mocks", (int)canned->mocks.n,
			 "authority", MR_LAUNCH_MOCKS_DIR "/" MR_LAUNCH_MOCKS_CA,
			 "authority_sha256", canned->pem ? hash : NULL, "first_byte_delay_ms",
			 (double)canned->delay_ns / 1e6, "seed", (json_int_t)canned->seed, "denied",
			 (json_int_t)canned->denied, "denied_untold", count(canned, canned->lost),
			 "looks_left_out", (json_int_t)canned->looks_left_out);
}

static void free_state(struct mr_run *run)
{
	struct canned *canned = run->network->state;

	mr_commands_free(canned->commands);
	mr_mocks_deinit(&canned->mocks);
	free(canned->counts);
	free(canned->pem);
	free(canned);
}

const struct mr_network_mode mr_canned_mode = {
	.net_mode = MR_NET_STUB,
	.name = "stub",
	.member = "mocks",
	.make_prefixes = make_prefixes,
	.begin = begin,
	.verify = verify,
	.on_message = on_message,
	.stop = stop,
	.finish = finish,
	.to_json = to_json,
	.receipt = receipt,
	.free = free_state,
};
