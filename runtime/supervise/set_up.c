/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Set-up: the supervisor's side, until the sandbox's first process is there
 *
 * Two tables, in order.  set_up[] is what must be there before that process; its last row is the table
 * launching[], which makes the streams, the process and what watches and serves it.  What a step has
 * made belongs to the run: the tear-down (end.c) takes a run that stopped at any step.
 */
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/die_at.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/roots.h"
#include "runtime/supervise/state.h"

struct launching {
	struct mr_run *run;
	struct mr_launch_opts opts; /* stdio: the payload's ends, until the process has them */
	int feed, source; /* of the standard input: our end, and where its bytes come from */
};

static int open_input(struct launching *l, struct mr_error *err)
{
	return mr_streams_open_input(l->run, &l->opts.stdio[0], &l->feed, &l->source, err);
}

static int open_outputs(struct launching *l, struct mr_error *err)
{
	return l->run->spec->sandbox_tty ? 0 : mr_streams_open_outputs(l->run, l->opts.stdio, err);
}

static int change_by_failures(struct launching *l, struct mr_error *err)
{
	(void)err;
	mr_failures_change(l->run, &l->opts);
	return 0;
}

static int take_root(struct launching *l, struct mr_error *err)
{
	return mr_roots_take(l->run, &l->opts, err);
}

static void close_given(struct launching *l)
{
	l->opts.kept_root = mr_close(l->opts.kept_root);
	for (int i = 0; i < 3; i++)
		l->opts.stdio[i] = mr_close(l->opts.stdio[i]);
}

static int start_process(struct launching *l, struct mr_error *err)
{
	int r = mr_launch_start(&l->opts, &l->run->launched, err);

	close_given(l);
	return r;
}

static int give_netns(struct launching *l, struct mr_error *err)
{
	return l->run->launched.takes_netns ? mr_network_give(l->run, err) : 0;
}

static int begin_receipt(struct launching *l, struct mr_error *err)
{
	(void)err;
	mr_receipt_begin(&l->run->receipt, &l->run->launched);
	return 0;
}

static int watch(struct launching *l, struct mr_error *err)
{
	return mr_run_watch(l->run, err);
}

static int start_network(struct launching *l, struct mr_error *err)
{
	return mr_network_start(l->run, err);
}

static const struct launching_step {
	const char *name;
	int (*run)(struct launching *l, struct mr_error *err);
} launching[] = {
	{ "input", open_input },
	{ "outputs", open_outputs },
	{ "failures", change_by_failures },
	{ "root", take_root },
	{ "process", start_process },
	{ "netns", give_netns }, /* the sandbox is built meanwhile */
	{ "receipt", begin_receipt },
	{ "watch", watch },
	{ "network", start_network },
};
MR_DIE_TABLE(launch, launching[0], N_ELEMENTS(launching));

static int launch(struct mr_run *run, struct mr_error *err)
{
	struct launching l = { .run = run,
			       .opts = { .spec = run->spec,
					 .cgroup = run->cgroup,
					 .slot = run->opts.slot,
					 .gives_netns = run->host->netns,
					 .kept_root = -1,
					 .stdio = { -1, -1, -1 } },
			       .feed = -1,
			       .source = -1 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(launching); i++) {
		MR_DIE_AT(launch, launching[i].name);
		r = launching[i].run(&l, err);
	}
	close_given(&l);
	run->in.in_fd = l.source; /* until it starts */
	run->in.own_in = mr_streams_own_input(run);
	run->feed_fd = l.feed;
	return r;
}

static int check(struct mr_run *run, struct mr_error *err)
{
	return mr_launch_check(run->spec, err);
}

static int take_lease(struct mr_run *run, struct mr_error *err)
{
	const struct mr_spec *spec = run->spec;
	const char *program = spec->snippet_path   ? spec->snippet_path
			      : spec->snippet_code ? spec->lang
			      : spec->argv.n	   ? spec->argv.v[0]
						   : NULL;
	const struct mr_lease_note note = { program, spec->name, run->begin_ns };

	run->lease_fd =
		mr_lease_take(run->host->lease_dir, run->id, run->host->cgroups, &note, err);
	return run->lease_fd < 0 ? run->lease_fd : 0;
}

static int make_group(struct mr_run *run, struct mr_error *err)
{
	int r = mr_run_make_group(run, err);

	run->cgroup_ns = mr_now_ns();
	return r;
}

static int observe(struct mr_run *run, struct mr_error *err)
{
	(void)err;
	mr_run_observe(run);
	return 0;
}

static const struct set_up_step {
	const char *name;
	int (*run)(struct mr_run *run, struct mr_error *err);
} set_up[] = {
	{ "policy", mr_narrowing_begin }, /* from here on run->spec is what is enforced */
	{ "check", check },
	{ "failures", mr_failures_begin },
	{ "keep", mr_result_open_keep }, /* while no payload can turn the way to it */
	{ "lease", take_lease }, /* before anything that a sweep would have to remove */
	{ "group", make_group },
	{ "observe", observe }, /* the first process is observed when it is made */
	{ "launch", launch },
};
MR_DIE_TABLE(set_up, set_up[0], N_ELEMENTS(set_up));

int mr_set_up(struct mr_run *run, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(set_up); i++) {
		MR_DIE_AT(set_up, set_up[i].name);
		r = set_up[i].run(run, err);
	}
	return r;
}
