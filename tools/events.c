/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events
 *
 * What an event has to say beside its time and process is one function for each kind of
 * event; all text in it was chosen by the payload and goes through mr_term_put().
 */
#include "tools/events.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "tools/cmd.h"
#include "tools/term.h"

static const char *text(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

static int64_t integer(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

/* --- what happened ---------------------------------------------------------------------- */

static void tell_fork(const json_t *row, const json_t *detail)
{
	(void)row;
	printf("process %lld", (long long)integer(detail, "child_tgid"));
}

static void tell_file(const char *file)
{
	mr_term_put(MR_TERM_DIM, " (is ");
	mr_term_put(MR_TERM_DIM, file);
	mr_term_put(MR_TERM_DIM, ")");
}

static void tell_exec(const json_t *row, const json_t *detail)
{
	size_t i;
	const json_t *word;

	const char *file = json_string_value(json_object_get(detail, "file"));

	mr_term_put(MR_TERM_PLAIN, text(row, "object"));
	json_array_foreach (json_object_get(detail, "argv"), i, word) {
		if (i == 0)
			continue; /* nearly always the same again */
		putchar(' ');
		mr_term_put(MR_TERM_PLAIN, json_string_value(word));
	}
	if (json_is_true(json_object_get(detail, "argv_truncated")))
		printf(" ...");
	if (json_is_true(json_object_get(detail, "fileless")))
		mr_term_put(MR_TERM_YELLOW, " (fileless)");
	else if (file && strcmp(file, text(row, "object")) != 0)
		tell_file(file);
}

static void tell_signal(int64_t sig)
{
	const char *name = sig > 0 && sig < NSIG ? sigabbrev_np((int)sig) : NULL;

	printf("signal %lld%s%s", (long long)sig, name ? " SIG" : "", name ? name : "");
}

static void tell_exit(const json_t *row, const json_t *detail)
{
	char size[MR_UNITS_SIZE];
	int64_t rss = integer(detail, "rss_peak_bytes");

	(void)row;
	if (json_is_integer(json_object_get(detail, "exit_signal")))
		tell_signal(integer(detail, "exit_signal"));
	else
		printf("status %lld", (long long)integer(detail, "exit_code"));
	if (rss > 0)
		printf(", at most %s", mr_units_human_size(size, (uint64_t)rss));
}

static void tell_oom(const json_t *row, const json_t *detail)
{
	(void)row;
	(void)detail;
	mr_term_put(MR_TERM_RED, "killed by the kernel: no memory left");
}

static void tell_crash(const json_t *row, const json_t *detail)
{
	mr_term_put(MR_TERM_RED, text(row, "object"));
	printf(" at ");
	mr_term_put(MR_TERM_PLAIN, text(detail, "address"));
}

static const char *name_of(int64_t number, const char *const *names, size_t n, char buf[24])
{
	if (number >= 0 && (size_t)number < n && names[number])
		return names[number];
	snprintf(buf, 24, "%lld", (long long)number);
	return buf;
}

static void tell_net(const json_t *row, const json_t *detail)
{
	static const char *const families[] = { [AF_UNIX] = "unix",
						[AF_INET] = "inet",
						[AF_INET6] = "inet6",
						[AF_NETLINK] = "netlink" };
	static const char *const kinds[] = { [SOCK_STREAM] = "stream",
					     [SOCK_DGRAM] = "datagram",
					     [SOCK_RAW] = "raw",
					     [SOCK_SEQPACKET] = "seqpacket" };
	char family[24], kind[24];

	if (text(row, "object")) {
		mr_term_put(MR_TERM_PLAIN, text(row, "object"));
		putchar(' ');
	}
	printf("%s %s", name_of(integer(detail, "family"), families, N_ELEMENTS(families), family),
	       name_of(integer(detail, "kind"), kinds, N_ELEMENTS(kinds), kind));
}

static void tell_denial(const json_t *row, const json_t *detail)
{
	mr_term_put(MR_TERM_YELLOW, text(detail, "what"));
	if (text(row, "object")) {
		putchar(' ');
		mr_term_put(MR_TERM_PLAIN, text(row, "object"));
	}
	printf(" -> ");
	mr_term_put(MR_TERM_PLAIN, text(detail, "errno_name"));
	printf(" (");
	mr_term_put(MR_TERM_PLAIN, text(detail, "rule"));
	printf(")");
	if (integer(detail, "count") > 1)
		printf(" x%lld", (long long)integer(detail, "count"));
}

static void tell_dns(const json_t *row, const json_t *detail)
{
	mr_term_put(MR_TERM_PLAIN, text(row, "object"));
	printf(" type ");
	mr_term_put(MR_TERM_PLAIN, text(detail, "type"));
	printf(", asked of ");
	mr_term_put(MR_TERM_PLAIN, text(detail, "server"));
	printf(" by ");
	mr_term_put(MR_TERM_PLAIN, text(detail, "transport"));
}

static void tell_tcp(const json_t *row, const json_t *detail)
{
	if (text(detail, "what")) {
		mr_term_put(MR_TERM_PLAIN, text(detail, "what"));
		putchar(' ');
	} else if (text(detail, "direction")) {
		mr_term_put(MR_TERM_PLAIN, text(detail, "direction"));
		putchar(' ');
	}
	mr_term_put(MR_TERM_PLAIN, text(row, "object"));
	if (json_is_integer(json_object_get(detail, "tx_bytes")))
		printf(", %lld bytes sent, %lld received", (long long)integer(detail, "tx_bytes"),
		       (long long)integer(detail, "rx_bytes"));
	if (integer(detail, "errno"))
		printf(", %s", strerrorname_np((int)integer(detail, "errno"))
				       ? strerrorname_np((int)integer(detail, "errno"))
				       : "an error");
}

static void tell_attempt(const json_t *row, const json_t *detail)
{
	size_t i;
	const json_t *arg;

	mr_term_put(MR_TERM_YELLOW, text(row, "object"));
	json_array_foreach (json_object_get(detail, "args"), i, arg) {
		putchar(' ');
		mr_term_put(MR_TERM_PLAIN, json_string_value(arg));
	}
}

static void tell_open(const json_t *row, const json_t *detail)
{
	bool secret = json_is_true(json_object_get(detail, "secret"));

	mr_term_put(secret ? MR_TERM_YELLOW : MR_TERM_PLAIN, text(row, "object"));
	printf("%s%s", json_is_true(json_object_get(detail, "to_write")) ? " to write" : "",
	       secret ? " (a secret)" : "");
}

static const struct kind {
	const char *name;
	void (*tell)(const json_t *row, const json_t *detail);
} kinds[] = {
	{ "fork", tell_fork },	 { "exec", tell_exec },	    { "exit", tell_exit },
	{ "oom", tell_oom },	 { "crash", tell_crash },   { "socket", tell_net },
	{ "connect", tell_net }, { "bind", tell_net },	    { "sendmsg", tell_net },
	{ "dns", tell_dns },	 { "tcp", tell_tcp },	    { "attempt", tell_attempt },
	{ "open", tell_open },	 { "denial", tell_denial },
};

static size_t find_kind(const char *name, size_t len)
{
	size_t i = 0;

	while (i < N_ELEMENTS(kinds) &&
	       (strlen(kinds[i].name) != len || strncmp(kinds[i].name, name, len) != 0))
		i++;
	return i;
}

int mr_events_parse_types(const char *list, uint32_t *ret, struct mr_error *err)
{
	uint32_t types = 0;

	for (const char *at = list; *at; at += *at == ',') {
		size_t len = strcspn(at, ","), i = find_kind(at, len);
		mr_auto_free char *word = mr_str_ndup(at, len);
		char quoted[MR_STR_QUOTE_SIZE];
		struct mr_str_nearest nearest;

		at += len;
		if (i < N_ELEMENTS(kinds)) {
			types |= 1u << i;
			continue;
		}
		mr_str_quote(quoted, sizeof(quoted), word);
		mr_str_nearest_init(&nearest, word);
		for (i = 0; i < N_ELEMENTS(kinds); i++)
			mr_str_nearest_offer(&nearest, kinds[i].name);
		if (nearest.best)
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "--type: unknown type %s; did you mean %s?", quoted,
				      nearest.best);
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--type: unknown type %s; known are fork, exec, exit, oom, crash, "
			      "socket, connect, bind, sendmsg, dns, tcp, attempt, open and denial",
			      quoted);
	}
	if (!types)
		return mr_err(err, MR_E_USAGE, EINVAL, "--type: no type in an empty list");
	*ret = types;
	return 0;
}

/* --- rows ----------------------------------------------------------------------------------- */

static void print_title(struct mr_events *events)
{
	if (events->titled)
		return;
	events->titled = true;
	mr_term_put(MR_TERM_BOLD, "     SECONDS      PID COMMAND          EVENT    WHAT");
	putchar('\n');
}

/* The store has details as text. */
static void parse_detail(json_t *row)
{
	const char *detail = text(row, "detail");
	json_t *parsed = NULL;

	if (detail && mr_json_parse(detail, strlen(detail), "detail", &parsed, NULL) == 0)
		json_object_set_new(row, "detail", parsed);
}

static void print_since(const json_t *since)
{
	int64_t ns = json_integer_value(since);
	uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char number[32] = "-";

	if (json_is_integer(since))
		snprintf(number, sizeof(number), "%s%ju.%06ju", ns < 0 ? "-" : "",
			 (uintmax_t)(n / 1000000000), (uintmax_t)(n % 1000000000 / 1000));
	printf("%12s ", number);
}

static void print_text(struct mr_events *events, const json_t *row, const struct kind *kind)
{
	char pid[24] = "-";

	print_title(events);
	print_since(json_object_get(row, "since_ns"));
	if (json_is_integer(json_object_get(row, "tgid")))
		snprintf(pid, sizeof(pid), "%lld", (long long)integer(row, "tgid"));
	printf("%8s ", pid);
	mr_term_cell(MR_TERM_PLAIN, text(row, "comm"), 16);
	putchar(' ');
	mr_term_cell(MR_TERM_BOLD, text(row, "type"), 8);
	putchar(' ');
	if (kind)
		kind->tell(row, json_object_get(row, "detail"));
	else
		mr_term_put(MR_TERM_PLAIN, text(row, "object"));
	putchar('\n');
}

/* A time may be not known, and one that a store or another user's supervisor made up may be any. */
static json_t *since_json(const struct mr_events *events, const json_t *boot)
{
	int64_t ns;

	if (!json_is_integer(boot) ||
	    __builtin_sub_overflow(json_integer_value(boot), events->begin_ns, &ns))
		return json_null();
	return json_integer(ns);
}

void mr_events_print(struct mr_events *events, json_t *row)
{
	const char *type = text(row, "type");
	size_t i = find_kind(type ? type : "", type ? strlen(type) : 0);

	if (events->types && (i == N_ELEMENTS(kinds) || !(events->types & 1u << i)))
		return;
	parse_detail(row);
	json_object_set_new(row, "since_ns", since_json(events, json_object_get(row, "boot_ns")));
	if (events->json)
		mr_cmd_print_line(row);
	else
		print_text(events, row, i < N_ELEMENTS(kinds) ? &kinds[i] : NULL);
}

void mr_events_print_lost(struct mr_events *events, int64_t count, const char *why)
{
	mr_auto_json json_t *row = NULL;

	if (count <= 0)
		return;
	if (events->json) {
		row = json_pack("{s:s, s:I, s:s}", "type", "lost", "count", (json_int_t)count,
				"reason", why);
		mr_cmd_print_line(row);
		return;
	}
	print_title(events);
	printf("%12s %8s %16s ", "", "", "");
	mr_term_cell(MR_TERM_YELLOW, "lost", 8);
	printf(" %lld events not shown: %s\n", (long long)count, why);
}
