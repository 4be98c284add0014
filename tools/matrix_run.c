/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix
 *
 * Cells are admitted in the order of their places, at most `jobs` at once and no
 * more than the cap holds; the next one waits rather than being overtaken, so a pair
 * stays together.  What is kept in the store is done; all else is done again.
 */
#include "tools/matrix_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/runner.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"
#include "runtime/flow/workflow.h"
#include "runtime/scenario/cells.h"
#include "runtime/store/query.h"
#include "tools/interrupts.h"
#include "tools/matrix_cell.h"
#include "tools/progress.h"

struct place {
	struct mr_matrix_cell *cell; /* that runs there; NULL: none */
};

struct kept {
	json_t *detail; /* NULL: not done */
};

struct matrix {
	const struct mr_matrix_opts *opts;
	struct mr_loop *loop;
	struct mr_runners *runners;
	struct mr_interrupts interrupts;
	struct mr_progress progress;
	struct mr_admission admission;
	struct place *running; /* opts->jobs places */
	struct mr_matrix_cell *next_cell; /* prepared, not admitted yet; or NULL */
	struct kept *details; /* by place of the cell */
	json_t *to_keep; /* details that are not in the store yet */
	size_t n_cells, next, n_done, n_running;
	bool stopped;
};

/* --- keeping --------------------------------------------------------------- */

static int keep(struct matrix *m, json_t *detail, struct mr_error *err)
{
	static const char *const columns[] = { "n",   "scenario", "level",  "replicate",
					       "arm", "seed",	  "verdict" };
	const struct mr_flow_session *session = m->opts->session;
	mr_auto_free char *text = json_dumps(detail, JSON_COMPACT);
	json_t *binds;

	if (!session->store)
		return 0;
	binds = json_pack("{s:s, s:s}", "matrix", session->id, "detail", text);
	for (size_t i = 0; i < N_ELEMENTS(columns); i++)
		json_object_set(binds, columns[i], json_object_get(detail, columns[i]));
	return mr_query_run(session->store, "matrix.cell", binds, err);
}

static void take_done(struct matrix *m, json_t *detail)
{
	const size_t n = (size_t)json_integer_value(json_object_get(detail, "n"));

	if (n >= m->n_cells || m->details[n].detail)
		return;
	m->details[n].detail = json_incref(detail);
	m->n_done++;
}

/* --- cells ----------------------------------------------------------------- */

static int prepare_next(struct matrix *m, struct mr_error *err)
{
	const struct mr_matrix_opts *opts = m->opts;
	struct mr_matrix_cell_opts cell = {
		.loop = m->loop,
		.session = opts->session,
		.runners = m->runners,
		.program = opts->program,
		.store = opts->store,
		.stubs = opts->stubs,
		.seed = opts->seed,
		.cap = &m->admission.cap,
	};

	while (m->next < m->n_cells && m->details[m->next].detail)
		m->next++;
	if (m->next_cell || m->next == m->n_cells)
		return 0;
	cell.cell = mr_cells_get(m->next, json_array_size(opts->scenarios), opts->seed);
	cell.scenario = json_array_get(opts->scenarios, cell.cell.scenario);
	return mr_matrix_cell_new(&cell, &m->next_cell, err);
}

static int admit(struct matrix *m, struct mr_error *err)
{
	int r = prepare_next(m, err);

	while (r == 0 && m->next_cell && !m->stopped && m->n_running < m->opts->jobs &&
	       mr_admission_enter(&m->admission, mr_matrix_cell_load(m->next_cell))) {
		size_t place = 0;

		while (m->running[place].cell)
			place++;
		m->running[place].cell = mr_take_ptr(m->next_cell);
		m->n_running++;
		m->next++;
		r = mr_matrix_cell_start(m->running[place].cell, err);
		if (r == 0)
			r = prepare_next(m, err);
	}
	return r;
}

static void end_cell(struct matrix *m, size_t place)
{
	struct mr_matrix_cell *cell = m->running[place].cell;
	mr_auto_json json_t *detail = NULL;
	int r = mr_matrix_cell_detail(cell, &detail);

	mr_admission_leave(&m->admission, mr_matrix_cell_load(cell));
	m->running[place].cell = mr_matrix_cell_free(cell);
	m->n_running--;
	if (r > 0 || m->stopped)
		return; /* to be done again */
	take_done(m, detail);
	json_array_append(m->to_keep, detail);
}

/* While the next ones run already: a cell that is not kept when we are killed is done again. */
static int keep_ended(struct matrix *m, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(m->to_keep); i++)
		r = keep(m, json_array_get(m->to_keep, i), err);
	json_array_clear(m->to_keep);
	return r;
}

static void collect(struct matrix *m)
{
	for (size_t i = 0; i < m->opts->jobs; i++)
		if (m->running[i].cell && mr_matrix_cell_ended(m->running[i].cell))
			end_cell(m, i);
	mr_progress_tell(&m->progress, m->n_done, m->n_cells);
}

/* --- the loop -------------------------------------------------------------- */

static void on_signal(void *owner)
{
	struct matrix *m = owner;

	m->stopped = true;
	for (size_t i = 0; i < m->opts->jobs; i++)
		if (m->running[i].cell)
			mr_matrix_cell_interrupt(m->running[i].cell);
}

/* One whose inputs could not be made has ended before it began. */
static bool has_ended(const struct matrix *m)
{
	for (size_t i = 0; i < m->opts->jobs; i++)
		if (m->running[i].cell && mr_matrix_cell_ended(m->running[i].cell))
			return true;
	return false;
}

static int drive(struct matrix *m, struct mr_error *err)
{
	int r = admit(m, err), k;

	while (r >= 0 && m->n_running > 0) {
		r = mr_loop_run_once(m->loop, has_ended(m) ? 0 : -1, err);
		if (r < 0)
			break;
		collect(m);
		if (!m->stopped)
			r = admit(m, err);
		k = keep_ended(m, r < 0 ? NULL : err);
		r = r < 0 ? r : k;
	}
	return r < 0 ? r : 0;
}

static int begin(struct matrix *m, struct mr_error *err)
{
	int r = mr_loop_new(&m->loop, err);

	if (r < 0)
		return r;
	m->runners = mr_runners_new(m->opts->program, m->opts->store);
	m->interrupts =
		(struct mr_interrupts){ .loop = m->loop, .on_signal = on_signal, .owner = m };
	r = mr_interrupts_begin(&m->interrupts, err);
	mr_progress_begin_at(&m->progress, m->opts->session->flow->name, m->n_done);
	return r;
}

static void end(struct matrix *m)
{
	mr_progress_end(&m->progress);
	for (size_t i = 0; i < m->opts->jobs; i++)
		mr_matrix_cell_free(m->running[i].cell);
	mr_matrix_cell_free(m->next_cell);
	free(m->running);
	json_decref(m->to_keep);
	mr_runners_free(m->runners);
	if (m->loop)
		mr_interrupts_end(&m->interrupts);
	mr_loop_free(m->loop);
}

int mr_matrix_run(const struct mr_matrix_opts *opts, json_t **ret, int *ret_signal,
		  struct mr_error *err)
{
	struct matrix m = { .opts = opts, .admission.cap = opts->cap };
	int r;

	m.n_cells = mr_cells_count(json_array_size(opts->scenarios), opts->replicates);
	m.running = mr_str_alloc(opts->jobs * sizeof(*m.running));
	m.to_keep = json_array();
	m.details = mr_str_alloc((m.n_cells + 1) * sizeof(*m.details));
	m.interrupts.source.fd = -1;
	for (size_t i = 0; i < json_array_size(opts->done); i++)
		take_done(&m, json_array_get(opts->done, i));
	r = begin(&m, err);
	if (r == 0)
		r = drive(&m, err);
	*ret = json_array();
	for (size_t i = 0; i < m.n_cells; i++)
		if (m.details[i].detail)
			json_array_append_new(*ret, m.details[i].detail);
	*ret_signal = m.interrupts.signal;
	end(&m);
	free(m.details);
	return r < 0 ? r : m.stopped;
}
