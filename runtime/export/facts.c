/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts
 *
 * sources[] says which rows become which facts.  Times in the store count from the
 * start of the host; one pair of the two clocks, taken at the run's end, makes them
 * times since 1970.  Numbers are what a record said, so sums are checked.
 */
#include "runtime/export/facts.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/base/buf.h"
#include "runtime/store/query.h"

static const char *const kind_names[] = {
#define KIND(name) #name,
#include "runtime/export/kinds.def"
#undef KIND
};

const char *mr_fact_kind_name(enum mr_fact_kind kind)
{
	return kind_names[kind];
}

bool mr_fact_is(const struct mr_fact *fact, enum mr_fact_kind kind, const char *variant)
{
	return fact->kind == kind && (variant[0] == '\0' || strcmp(variant, fact->variant) == 0);
}

struct loading {
	struct mr_facts *facts;
	const struct source *source;
	json_t *connected; /* set of "process, protocol, peer" that connections has */
};

static const struct source {
	const char *statement;
	enum mr_fact_kind kind;
	const char *variant; /* column */
	const char *time; /* column, in boot time; NULL: the end of the run */
} sources[] = {
	{ "run.connections", MR_FACT_connection, "verdict", "boot_ns" }, /* before the events */
	{ "export.events", MR_FACT_event, "type", "boot_ns" },
	{ "export.dns", MR_FACT_dns, "type", "boot_ns" },
	{ "run.denials", MR_FACT_denial, "layer", "first_ns" },
	{ "run.changes", MR_FACT_change, "kind", NULL },
	{ "run.limits_hit", MR_FACT_limit, "name", NULL },
	{ "run.degraded", MR_FACT_degraded, "item", NULL },
};

/* --- members --------------------------------------------------------------- */

static bool get_integer(const json_t *row, const char *key, int64_t *ret)
{
	const json_t *value = json_object_get(row, key);

	if (!json_is_integer(value))
		return false;
	*ret = json_integer_value(value);
	return true;
}

static const char *get_text(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

/* A boot time as time since 1970. */
static bool real_time(const json_t *run, int64_t boot_ns, int64_t *ret)
{
	int64_t boot, real_us, ago;

	return get_integer(run, "stored_boot_ns", &boot) &&
	       get_integer(run, "stored_real_us", &real_us) &&
	       !__builtin_sub_overflow(boot, boot_ns, &ago) &&
	       !__builtin_mul_overflow(real_us, 1000, ret) &&
	       !__builtin_sub_overflow(*ret, ago, ret);
}

static void set_real_time(json_t *row, const json_t *run, const char *to, const char *from)
{
	int64_t boot_ns, real_ns;

	if (get_integer(row, from, &boot_ns) && real_time(run, boot_ns, &real_ns))
		json_object_set_new(row, to, json_integer(real_ns));
}

/* Columns that hold JSON come as text. */
static void unpack(json_t *row, const char *key)
{
	const char *text = get_text(row, key);
	mr_auto_json json_t *parsed = NULL;

	if (text[0] && mr_json_parse(text, strlen(text), key, &parsed, NULL) == 0)
		json_object_set(row, key, parsed);
}

/* Arguments with spaces between; what the record cut off is not there either. */
static void set_command_line(json_t *row)
{
	const json_t *argv = json_object_get(row, "argv");
	mr_auto_buf struct mr_buf text = { 0 };

	if (!json_is_array(argv) || json_array_size(argv) == 0)
		return;
	for (size_t i = 0; i < json_array_size(argv); i++) {
		const char *word = json_string_value(json_array_get(argv, i));

		mr_buf_add(&text, i > 0 ? " " : "");
		mr_buf_add(&text, word ? word : "");
	}
	json_object_set_new(row, "cmd_line", json_stringn_nocheck(text.text, text.len));
}

static void set_uid(json_t *row, const char *to, const char *tgid_key, const char *start_key)
{
	mr_auto_free char *text = NULL;
	int64_t tgid, start;

	if (!get_integer(row, tgid_key, &tgid) || !get_integer(row, start_key, &start))
		return;
	text = mr_str_format("%lld-%lld", (long long)tgid, (long long)start);
	json_object_set_new(row, to, json_string(text));
}

static void add_derived(json_t *row, const json_t *run)
{
	unpack(row, "argv");
	set_command_line(row);
	set_uid(row, "process_uid", "tgid", "start_boot_ns");
	set_uid(row, "parent_uid", "parent_tgid", "parent_start_boot_ns");
	if (json_object_get(row, "tgid"))
		json_object_set(row, "pid", json_object_get(row, "tgid"));
	set_real_time(row, run, "start_ns", "start_boot_ns");
	set_real_time(row, run, "exit_ns", "exit_boot_ns");
}

/* --- the list -------------------------------------------------------------- */

static int64_t end_of(const json_t *run)
{
	return json_integer_value(json_object_get(run, "end_ns"));
}

/* boot_ns NULL: the end of the run. */
static void add_fact(struct mr_facts *facts, enum mr_fact_kind kind, const char *variant_key,
		     const int64_t *boot_ns, json_t *row)
{
	struct mr_fact fact = { .kind = kind, .row = row, .time_ns = end_of(facts->run) };

	if ((!boot_ns || !real_time(facts->run, *boot_ns, &fact.time_ns)) &&
	    kind != MR_FACT_run_start && kind != MR_FACT_run_end)
		json_object_set_new(row, "time_is", json_string("run_end"));
	fact.variant = variant_key ? get_text(row, variant_key) : "";
	facts->v = mr_str_grow(facts->v, facts->n, &facts->cap, sizeof(*facts->v));
	fact.n = facts->n;
	facts->v[facts->n++] = fact;
}

/* "127.0.0.1:80" and "[::1]:80". */
static void set_address(json_t *row, const char *object, const char *host_key, const char *port_key)
{
	const char *colon = strrchr(object, ':');
	size_t n = colon ? (size_t)(colon - object) : 0;
	uint64_t port;

	if (n > 1 && object[0] == '[' && object[n - 1] == ']') {
		object++;
		n -= 2;
	}
	if (n == 0 || mr_units_parse_count(colon + 1, &port, NULL) < 0)
		return;
	json_object_set_new(row, host_key, json_stringn(object, n));
	json_object_set_new(row, port_key, json_integer((json_int_t)port));
}

static void set_name(json_t *row, const char *key, int64_t number, const char *const *names,
		     const int *numbers, size_t n)
{
	json_object_del(row, key);
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == number)
			json_object_set_new(row, key, json_string(names[i]));
}

/* The members of a network event as the columns of connections. */
static void normalise_net(json_t *row, enum mr_fact_kind kind)
{
	static const char *const families[] = { "unix", "inet", "inet6", "netlink" };
	static const int family_numbers[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	static const char *const protocols[] = { "icmp", "tcp", "udp", "icmp6" };
	static const int protocol_numbers[] = { IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP,
						IPPROTO_ICMPV6 };
	bool local = kind == MR_FACT_bind;
	int64_t number;

	if (get_integer(row, "family", &number))
		set_name(row, "family", number, families, family_numbers, N_ELEMENTS(families));
	if (get_integer(row, "protocol", &number))
		set_name(row, "protocol", number, protocols, protocol_numbers,
			 N_ELEMENTS(protocols));
	json_object_del(row, "kind");
	set_address(row, get_text(row, "object"), local ? "local" : "remote",
		    local ? "local_port" : "remote_port");
	json_object_set_new(row, "direction", json_string(local ? "in" : "out"));
}

static enum mr_fact_kind event_kind(const char *type)
{
	for (int kind = MR_FACT_exec; kind < MR_FACT_event; kind++)
		if (strcmp(kind_names[kind], type) == 0)
			return (enum mr_fact_kind)kind;
	return MR_FACT_event;
}

static bool is_net(enum mr_fact_kind kind)
{
	return kind >= MR_FACT_socket && kind <= MR_FACT_sendmsg;
}

/* What was loaded, all links followed; what was asked for, where no more is known. */
static json_t *program_of(const json_t *row)
{
	json_t *file = json_object_get(row, "file");

	return json_is_string(file) && !json_is_true(json_object_get(row, "file_truncated"))
		       ? file
		       : json_object_get(row, "object");
}

/* The members of detail beside the columns, which win. */
static enum mr_fact_kind take_event(json_t *row)
{
	enum mr_fact_kind kind = event_kind(get_text(row, "type"));

	unpack(row, "detail");
	json_object_update_missing(row, json_object_get(row, "detail"));
	json_object_del(row, "detail");
	if (kind != MR_FACT_event)
		json_object_del(row, "type"); /* is its kind */
	if (kind == MR_FACT_exec)
		json_object_set(row, "exe", program_of(row));
	if (kind == MR_FACT_open)
		json_object_set(row, "path", json_object_get(row, "object"));
	if (is_net(kind))
		normalise_net(row, kind);
	return kind;
}

/* A connection that was asked for, and has a row that says what became of it. */
static bool is_told(struct loading *loading, enum mr_fact_kind kind, const json_t *row)
{
	mr_auto_free char *key = NULL;
	int64_t tgid = 0, port = 0;

	if (kind != MR_FACT_connection && kind != MR_FACT_connect)
		return false;
	get_integer(row, "tgid", &tgid);
	get_integer(row, "remote_port", &port);
	key = mr_str_format("%lld %s %s %lld", (long long)tgid, get_text(row, "protocol"),
			    get_text(row, "remote"), (long long)port);
	if (kind == MR_FACT_connect)
		return json_object_get(loading->connected, key);
	json_object_set_new_nocheck(loading->connected, key, json_true());
	return false;
}

static int on_row(const json_t *borrowed, void *owner, struct mr_error *err)
{
	struct loading *loading = owner;
	const struct source *source = loading->source;
	enum mr_fact_kind kind = source->kind;
	mr_auto_json json_t *row = json_copy((json_t *)(uintptr_t)borrowed);
	int64_t boot_ns;
	bool timed;

	(void)err;
	if (kind == MR_FACT_event)
		kind = take_event(row);
	if (is_told(loading, kind, row))
		return 0;
	add_derived(row, loading->facts->run);
	timed = source->time && get_integer(row, source->time, &boot_ns);
	/* A known event's type is its kind. */
	add_fact(loading->facts, kind, kind == source->kind ? source->variant : NULL,
		 timed ? &boot_ns : NULL, mr_take_ptr(row));
	return 0;
}

/* A row with some of the members only. */
static json_t *pick(const json_t *row, const char *const *columns)
{
	json_t *some = json_object();

	for (; *columns; columns++)
		if (json_object_get(row, *columns))
			json_object_set(some, *columns, json_object_get(row, *columns));
	return some;
}

/* The beginning and the end of a process.  At the beginning it is still its parent's copy: what it
 * executed later is not said of it there. */
static int on_process(const json_t *borrowed, void *owner, struct mr_error *err)
{
	static const char *const at_start[] = { "tgid",	       "start_boot_ns",
						"parent_tgid", "parent_start_boot_ns",
						"uid",	       "process_uid",
						"parent_uid",  "pid",
						"start_ns",    NULL };
	struct mr_facts *facts = owner;
	mr_auto_json json_t *row = json_copy((json_t *)(uintptr_t)borrowed);
	int64_t start_ns = 0, exit_ns, execs = 0;
	json_t *start;

	(void)err;
	add_derived(row, facts->run);
	start = pick(row, at_start);
	if (get_integer(row, "execs", &execs) && execs == 0)
		json_object_set(start, "comm", json_object_get(row, "comm"));
	add_fact(facts, MR_FACT_fork, NULL,
		 get_integer(row, "start_boot_ns", &start_ns) ? &start_ns : NULL, start);
	if (get_integer(row, "exit_boot_ns", &exit_ns))
		add_fact(facts, MR_FACT_exit, NULL, &exit_ns, json_incref(row));
	return 0;
}

/* --- the run itself -------------------------------------------------------- */

/* The start as the clock of the end would tell it, by which all else is converted. */
static bool started_ns(const json_t *run, int64_t *ret)
{
	int64_t us, skew_ns = 0;

	get_integer(run, "clock_skew_ns", &skew_ns);
	return get_integer(run, "started_us", &us) && !__builtin_mul_overflow(us, 1000, ret) &&
	       !__builtin_add_overflow(*ret, skew_ns, ret);
}

static void derive_run(json_t *run, const json_t *head)
{
	int64_t us, wall_us, ns;
	bool known = started_ns(run, &ns);

	unpack(run, "argv");
	set_command_line(run);
	json_object_set(run, "run_id", json_object_get(head, "run_id"));
	json_object_set(run, "process_uid", json_object_get(head, "run_id"));
	if (known)
		json_object_set_new(run, "start_ns", json_integer(ns));
	if (get_integer(run, "stored_real_us", &us) && !__builtin_mul_overflow(us, 1000, &ns))
		known = true;
	else if (known && get_integer(run, "wall_us", &wall_us) &&
		 !__builtin_mul_overflow(wall_us, 1000, &us))
		known = !__builtin_add_overflow(ns, us, &ns);
	if (!known) /* when it was taken in */
		ns = json_integer_value(json_object_get(head, "time_us")) * 1000;
	json_object_set_new(run, "end_ns", json_integer(ns));
}

int mr_facts_load_run(struct mr_store *store, const json_t *head, json_t **ret,
		      struct mr_error *err)
{
	int r = mr_query_one(store, "export.run",
			     json_pack("{s:O}", "run_id", json_object_get(head, "run_id")), ret,
			     err);

	if (r == 0)
		derive_run(*ret, head);
	return r;
}

/* What frames the rest, and what only sums tell. */
static void add_whole(struct mr_facts *facts)
{
	static const char *const of_oom[] = { "oom_kills", "oom_level", "process_uid", NULL };
	int64_t kills = 0;

	add_fact(facts, MR_FACT_run_end, "reason", NULL, json_copy(facts->run));
	if (get_integer(facts->run, "oom_kills", &kills) && kills > 0)
		add_fact(facts, MR_FACT_oom, "oom_level", NULL, pick(facts->run, of_oom));
}

static void add_start(struct mr_facts *facts)
{
	static const char *const at_start[] = { "name",	       "program",	 "argv",
						"cmd_line",    "argv_bytes",	 "argv_truncated",
						"lang",	       "snippet_sha256", "spec_sha256",
						"batch_index", "process_uid",	 "start_ns",
						NULL };
	int64_t start_ns;

	if (!get_integer(facts->run, "start_ns", &start_ns))
		return;
	add_fact(facts, MR_FACT_run_start, NULL, NULL, pick(facts->run, at_start));
	facts->v[facts->n - 1].time_ns = start_ns;
}

/* Of one instant: a run ends after its processes, and these after what they did. */
static int rank(const struct mr_fact *fact)
{
	return fact->kind == MR_FACT_run_end ? 2 : fact->kind == MR_FACT_exit;
}

static int by_time(const void *a, const void *b)
{
	const struct mr_fact *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (rank(x) != rank(y))
		return rank(x) < rank(y) ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

static void sort_facts(struct mr_facts *facts)
{
	if (facts->n > 0)
		qsort(facts->v, facts->n, sizeof(*facts->v), by_time);
	for (size_t i = 0; i < facts->n; i++)
		facts->v[i].n = i;
}

static int load_rows(struct mr_store *store, struct mr_facts *facts, struct mr_error *err)
{
	const json_t *run_id = json_object_get(facts->run, "run_id");
	mr_auto_json json_t *connected = json_object();
	struct loading loading = { .facts = facts, .connected = connected };
	int r;

	r = mr_query_each(store, "run.processes", json_pack("{s:O}", "run_id", run_id), on_process,
			  facts, err);
	for (size_t i = 0; i < N_ELEMENTS(sources) && r == 0; i++) {
		loading.source = &sources[i];
		r = mr_query_each(store, sources[i].statement, json_pack("{s:O}", "run_id", run_id),
				  on_row, &loading, err);
	}
	return r;
}

int mr_facts_load(struct mr_store *store, const json_t *head, struct mr_facts *ret,
		  struct mr_error *err)
{
	int r;

	*ret = (struct mr_facts){ 0 };
	r = mr_facts_load_run(store, head, &ret->run, err);
	if (r != 0)
		return r;
	add_start(ret);
	r = load_rows(store, ret, err);
	if (r < 0)
		return r;
	add_whole(ret);
	sort_facts(ret);
	return 0;
}

void mr_facts_deinit(struct mr_facts *facts)
{
	for (size_t i = 0; i < facts->n; i++)
		json_decref(facts->v[i].row);
	free(facts->v);
	json_decref(facts->run);
	*facts = (struct mr_facts){ 0 };
}
