/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix
 *
 * Cells are admitted in the order of their places, at most `jobs` at once and no
 * more than the cap holds; the next one waits rather than being overtaken, so a pair
 * stays together.  What is kept is done; all else is done again.  In memory is no more of
 * a cell that has ended than its outcome.
 *
 *   cell     running -> over (its sandboxes are gone: another one begins) -> ended (what
 *            they said was read) -> kept, with others
 */
#include "tools/matrix_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/runner.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/flow/workflow.h"
#include "runtime/scenario/cells.h"
#include "runtime/scenario/outcome.h"
#include "tools/interrupts.h"
#include "tools/matrix_cell.h"
#include "tools/matrix_details.h"
#include "tools/matrix_group.h"
#include "tools/progress.h"
#include "tools/stubs.h"

#define KEEP_MAX 16 /* cells that are kept together */

struct place {
	struct mr_matrix_cell *cell; /* that runs there; NULL: none */
	bool is_over; /* only what it said is still to be read; what it used is others' */
};

struct matrix {
	const struct mr_matrix_opts *opts;
	struct mr_loop *loop;
	struct mr_runners *runners, *held_runners;
	struct mr_interrupts interrupts;
	struct mr_progress progress;
	struct mr_admission admission;
	struct mr_matrix_group *group;
	struct mr_matrix_cell **firsts; /* never run: of each scenario, off and on */
	struct place *running; /* those that are over, and opts->jobs that are not */
	size_t n_places;
	struct mr_matrix_cell *next_cell; /* prepared, not admitted yet; or NULL */
	json_t *to_keep; /* details that are not kept yet */
	uint64_t keep_at_ns; /* when they are; 0: there are none */
	size_t n_cells, next, n_done, n_running;
	bool stopped;
};

/* --- cells ----------------------------------------------------------------- */

static struct mr_matrix_cell_opts cell_opts(struct matrix *m)
{
	const struct mr_matrix_opts *opts = m->opts;

	return (struct mr_matrix_cell_opts){
		.loop = m->loop,
		.session = opts->session,
		.runners = m->runners,
		.held_runners = m->held_runners,
		.program = opts->program,
		.store = opts->store,
		.stubs = opts->stubs,
		.thresholds = opts->thresholds,
		.seed = opts->seed,
		.cap = &m->admission.cap,
		.group = m->group,
	};
}

static int prepare_next(struct matrix *m, struct mr_error *err)
{
	const struct mr_matrix_opts *opts = m->opts;
	struct mr_matrix_cell_opts cell = cell_opts(m);

	while (m->next < m->n_cells && mr_outcomes_has(opts->outcomes, m->next))
		m->next++;
	if (m->next_cell || m->next == m->n_cells)
		return 0;
	cell.cell = mr_outcomes_cell(opts->outcomes, m->next);
	cell.scenario = json_array_get(opts->scenarios, cell.cell.scenario);
	cell.like = m->firsts[2 * cell.cell.scenario + cell.cell.on];
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

/* What it may use is free for the next one. */
static void leave(struct matrix *m, struct place *place)
{
	if (place->is_over)
		return;
	place->is_over = true;
	mr_admission_leave(&m->admission, mr_matrix_cell_load(place->cell));
	m->n_running--;
}

static void let_go(struct matrix *m)
{
	for (size_t i = 0; i < m->n_places; i++)
		if (m->running[i].cell)
			mr_matrix_cell_let_go(m->running[i].cell);
}

/* Before the next ones begin; what these said is read while the next ones run. */
static void leave_over(struct matrix *m)
{
	for (size_t i = 0; i < m->n_places; i++)
		if (m->running[i].cell && mr_matrix_cell_is_over(m->running[i].cell))
			leave(m, &m->running[i]);
}

static void end_cell(struct matrix *m, struct place *place)
{
	mr_auto_json json_t *detail = NULL;
	int r = mr_matrix_cell_detail(place->cell, &detail);

	leave(m, place);
	mr_matrix_cell_free(place->cell);
	*place = (struct place){ 0 };
	if (r > 0 || m->stopped)
		return; /* to be done again */
	mr_assert(mr_outcomes_add(m->opts->outcomes, detail, NULL) == 0);
	m->n_done++;
	json_array_append(m->to_keep, detail);
}

/* Many at once cost hardly more than one.  They are not kept yet when we are killed: those cells are
 * done again. */
static int keep_ended(struct matrix *m, struct mr_error *err)
{
	int r = 0;

	if (json_array_size(m->to_keep) > 0)
		r = mr_matrix_details_add(m->opts->details, m->to_keep, err);
	json_array_clear(m->to_keep);
	m->keep_at_ns = 0;
	return r;
}

static int keep_in_time(struct matrix *m, struct mr_error *err)
{
	if (json_array_size(m->to_keep) == 0)
		return 0;
	if (m->keep_at_ns == 0)
		m->keep_at_ns = mr_now_ns() + MR_PATIENCE_NS(MATRIX_KEEP);
	if (json_array_size(m->to_keep) < KEEP_MAX && mr_now_ns() < m->keep_at_ns)
		return 0;
	return keep_ended(m, err);
}

static void collect(struct matrix *m)
{
	for (size_t i = 0; i < m->n_places; i++)
		if (m->running[i].cell)
			mr_matrix_cell_settle(m->running[i].cell);
	for (size_t i = 0; i < m->n_places; i++)
		if (m->running[i].cell && mr_matrix_cell_ended(m->running[i].cell))
			end_cell(m, &m->running[i]);
	mr_progress_tell(&m->progress, m->n_done, m->n_cells);
}

/* --- the loop -------------------------------------------------------------- */

static void on_signal(void *owner)
{
	struct matrix *m = owner;

	m->stopped = true;
	m->opts->stubs->plugin.stopped = true;
	for (size_t i = 0; i < m->n_places; i++)
		if (m->running[i].cell)
			mr_matrix_cell_interrupt(m->running[i].cell);
}

/* A plugin is waited for, and the cells that run already go on. */
static void on_turn(void *owner)
{
	collect(owner);
}

/* One whose inputs could not be made has ended before it began. */
static bool has_ended(const struct matrix *m)
{
	for (size_t i = 0; i < m->n_places; i++)
		if (m->running[i].cell && mr_matrix_cell_ended(m->running[i].cell))
			return true;
	return false;
}

/* How long nothing may happen. */
static int timeout_ms(const struct matrix *m)
{
	const uint64_t now = mr_now_ns();

	if (has_ended(m))
		return 0;
	if (m->keep_at_ns == 0)
		return -1;
	return m->keep_at_ns > now ? (int)((m->keep_at_ns - now) / 1000000 + 1) : 0;
}

static int drive(struct matrix *m, struct mr_error *err)
{
	int r = admit(m, err), k;

	while (r >= 0 && m->n_running > 0) {
		r = mr_loop_run_once(m->loop, timeout_ms(m), err);
		if (r < 0)
			break;
		let_go(m);
		leave_over(m);
		if (!m->stopped)
			r = admit(m, err);
		collect(m);
		if (r >= 0 && !m->stopped)
			r = admit(m, err);
		if (r >= 0)
			r = keep_in_time(m, err);
	}
	k = keep_ended(m, r < 0 ? NULL : err);
	return r < 0 ? r : k;
}

/* What the widest cells may use; both arms: a scenario can allow less than the workflow does. */
static int make_firsts(struct matrix *m, struct mr_matrix_group_opts *ret, struct mr_error *err)
{
	const size_t n = m->opts->outcomes->n_scenarios;
	size_t most = 0;

	m->firsts = mr_str_alloc((2 * n + 1) * sizeof(struct mr_matrix_cell *));
	for (size_t i = 0; i < 2 * n; i++) {
		struct mr_matrix_cell_opts opts = cell_opts(m);
		const struct mr_load *load;
		size_t copies = 0;
		int r;

		opts.cell = mr_outcomes_cell(m->opts->outcomes,
					     mr_cells_place(i / 2, 0, i % 2 == 1, n));
		opts.scenario = json_array_get(m->opts->scenarios, i / 2);
		r = mr_matrix_cell_new(&opts, &m->firsts[i], err);
		if (r < 0)
			return r;
		load = mr_matrix_cell_copy_load(m->firsts[i], &copies);
		if (load->cpus > ret->widest_cpus)
			ret->widest_cpus = load->cpus;
		most = copies > most ? copies : most;
	}
	ret->sandboxes = most * m->opts->jobs;
	return 0;
}

static struct mr_runners *new_runners(const struct matrix *m, bool holds)
{
	return mr_runners_new(m->opts->program, m->opts->store, mr_matrix_group_name(m->group),
			      holds);
}

static int begin(struct matrix *m, struct mr_error *err)
{
	struct mr_matrix_group_opts group = { .cap = m->admission.cap };
	int r = mr_loop_new(&m->loop, err);

	if (r == 0)
		r = make_firsts(m, &group, err);
	if (r < 0)
		return r;
	m->group = mr_matrix_group_new(&group);
	m->opts->stubs->plugin.loop = m->loop;
	m->opts->stubs->plugin.on_turn = on_turn;
	m->opts->stubs->plugin.owner = m;
	m->runners = new_runners(m, false);
	m->held_runners = new_runners(m, true);
	m->interrupts =
		(struct mr_interrupts){ .loop = m->loop, .on_signal = on_signal, .owner = m };
	r = mr_interrupts_begin(&m->interrupts, err);
	mr_progress_begin_at(&m->progress, m->opts->session->flow->name, m->n_done);
	return r;
}

static void end(struct matrix *m)
{
	mr_progress_end(&m->progress);
	for (size_t i = 0; i < m->n_places; i++)
		mr_matrix_cell_free(m->running[i].cell);
	mr_matrix_cell_free(m->next_cell);
	for (size_t i = 0; m->firsts && i < 2 * m->opts->outcomes->n_scenarios; i++)
		mr_matrix_cell_free(m->firsts[i]);
	free(m->firsts);
	free(m->running);
	json_decref(m->to_keep);
	mr_runners_free(m->runners);
	mr_runners_free(m->held_runners);
	mr_matrix_group_free(m->group); /* with the last sandbox in it gone */
	if (m->loop)
		mr_interrupts_end(&m->interrupts);
	mr_loop_free(m->loop);
}

int mr_matrix_run(const struct mr_matrix_opts *opts, json_t **ret_cap, int *ret_signal,
		  struct mr_error *err)
{
	struct matrix m = { .opts = opts, .admission.cap = opts->cap };
	int r;

	m.n_cells = opts->outcomes->n_cells;
	m.n_places = 2 * opts->jobs;
	m.running = mr_str_alloc(m.n_places * sizeof(*m.running));
	m.to_keep = json_array();
	m.interrupts.source.fd = -1;
	for (size_t i = 0; i < m.n_cells; i++)
		m.n_done += mr_outcomes_has(opts->outcomes, i);
	r = begin(&m, err);
	if (r == 0)
		r = drive(&m, err);
	*ret_cap = m.group ? mr_matrix_group_json(m.group) : NULL;
	*ret_signal = m.interrupts.signal;
	end(&m);
	return r < 0 ? r : m.stopped;
}
