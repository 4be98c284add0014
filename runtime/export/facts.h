/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: a run as a list of what happened, in the order of time
 *
 * One reading of the store's tables for all formats that want such a list; what the
 * columns are called there, the members of a fact are called here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_error;
struct mr_store;

enum mr_fact_kind {
#define KIND(name) MR_FACT_##name,
#include "runtime/export/kinds.def"
#undef KIND
	MR_FACT_COUNT_,
};
const char *mr_fact_kind_name(enum mr_fact_kind kind);

struct mr_fact {
	enum mr_fact_kind kind;
	const char *variant; /* of the kind: reason, layer, verdict, ...; "" where there is none */
	int64_t time_ns; /* since 1970; what has no time of its own: the end of the run */
	size_t n; /* place in the list */
	struct json_t *row; /* owned; null is "nobody measured it" */
};

/* Is it of this kind and variant?  variant "": any. */
bool mr_fact_is(const struct mr_fact *fact, enum mr_fact_kind kind, const char *variant);
/* The first row of a table whose members kind and variant it is of; each kind must have a row for
 * any variant. */
#define mr_fact_choose(fact_, rows_)                                              \
	({                                                                        \
		size_t i_ = 0;                                                    \
		while (i_ < N_ELEMENTS(rows_) &&                                  \
		       !mr_fact_is(fact_, (rows_)[i_].kind, (rows_)[i_].variant)) \
			i_++;                                                     \
		mr_assert(i_ < N_ELEMENTS(rows_));                                \
		&(rows_)[i_];                                                     \
	})

struct mr_facts {
	struct json_t *run; /* the run's own columns, owned */
	struct mr_fact *v;
	size_t n, cap;
};

/* Those of a run; head: as for struct mr_export_format.  Returns 1 when there is no such run.
 *
 * Beside the columns of its table a row has, where they can be known: time_is ("run_end": the time is
 * only the end of the run), process_uid and parent_uid (unique in all time), pid, cmd_line,
 * start_ns and exit_ns (since 1970), family, protocol, remote, remote_port, local and local_port of
 * an event.  The run has start_ns, end_ns, cmd_line, process_uid. */
int mr_facts_load(struct mr_store *store, const struct json_t *head, struct mr_facts *ret,
		  struct mr_error *err);
/* Of it only the run itself. */
int mr_facts_load_run(struct mr_store *store, const struct json_t *head, struct json_t **ret,
		      struct mr_error *err);
void mr_facts_deinit(struct mr_facts *facts);
#define mr_auto_facts __attribute__((cleanup(mr_facts_deinit)))
