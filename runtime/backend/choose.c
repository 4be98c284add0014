/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choose
 *
 * A candidate is a backend that was asked for by name, or with "auto" any.  Of the candidates
 * that can do every need, the one with the fewest losses; native loses nothing.
 */
#include "runtime/backend/choose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/backend/backend.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

#define FIRST MR_BACKEND_NATIVE
#define LAST MR_BACKEND_QEMU

/* The needs that this backend answers so; lacks: of a host, beside the table. */
static uint64_t needs_that(const struct mr_choose_in *in, enum mr_backend backend,
			   enum mr_backend_can can)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < MR_NEED_COUNT_; i++)
		if ((in->needs >> i & 1) &&
		    mr_backend_can(backend, (enum mr_backend_need)i, NULL) == can)
			mask |= UINT64_C(1) << i;
	return mask;
}

/* Of what may be lost nobody knows beforehand. */
static uint64_t needs_lost(const struct mr_choose_in *in, enum mr_backend backend)
{
	return needs_that(in, backend, MR_BACKEND_LOSS) |
	       needs_that(in, backend, MR_BACKEND_MAY_LOSE);
}

bool mr_choose_is_candidate(const struct mr_choose_in *in, enum mr_backend backend)
{
	return (in->wish == MR_BACKEND_AUTO || in->wish == backend) &&
	       needs_that(in, backend, MR_BACKEND_CANNOT) == 0;
}

static void list_needs(struct mr_str *text, uint64_t mask)
{
	const char *comma = "";

	for (unsigned int i = 0; i < MR_NEED_COUNT_; i++) {
		if (!(mask >> i & 1))
			continue;
		mr_str_printf(text, "%s%s", comma, mr_backend_need_text((enum mr_backend_need)i));
		comma = ", ";
	}
}

/* Why not this one; "" when it can. */
static void refusal(const struct mr_choose_in *in, enum mr_backend backend, struct mr_str *text)
{
	const struct mr_backend_facts *facts = &in->facts[backend];
	const uint64_t cannot =
		needs_that(in, backend, MR_BACKEND_CANNOT) | (in->needs & facts->lacks);

	if (cannot) {
		mr_str_add(text, "does not do ");
		list_needs(text, cannot);
	} else if (!facts->asked) {
		mr_str_add(text, "was not asked");
	} else if (!facts->can) {
		mr_str_add(text, facts->why[0] ? facts->why : "cannot, and does not say why");
	}
}

static bool can_do(const struct mr_choose_in *in, enum mr_backend backend)
{
	const struct mr_backend_facts *facts = &in->facts[backend];

	return mr_choose_is_candidate(in, backend) && facts->asked && facts->can &&
	       !(in->needs & facts->lacks);
}

static enum mr_backend best_of(const struct mr_choose_in *in)
{
	enum mr_backend best = MR_BACKEND_AUTO;
	int least = 0;

	for (unsigned int b = FIRST; b <= LAST; b++) {
		const enum mr_backend backend = (enum mr_backend)b;
		const int lost = __builtin_popcountll(needs_lost(in, backend));

		if (!can_do(in, backend))
			continue;
		if (backend == MR_BACKEND_NATIVE)
			return backend;
		if (best == MR_BACKEND_AUTO || lost < least) {
			best = backend;
			least = lost;
		}
	}
	return best;
}

/* One backend of a refusal; the kernel's own words about a native run stand for themselves. */
static void add_refusal(const struct mr_choose_in *in, enum mr_backend backend, struct mr_str *text)
{
	const bool is_own = backend == MR_BACKEND_NATIVE && mr_choose_is_candidate(in, backend);

	if (in->wish != MR_BACKEND_AUTO && in->wish != backend)
		return;
	if (text->len)
		mr_str_add(text, "; ");
	if (!is_own)
		mr_str_printf(text, "backend %s: ", mr_backend_name(backend));
	refusal(in, backend, text);
}

static int refuse(const struct mr_choose_in *in, struct mr_error *err)
{
	char buf[sizeof(err->msg)];
	struct mr_str text;

	mr_str_init(&text, buf, sizeof(buf));
	for (unsigned int b = FIRST; b <= LAST; b++)
		add_refusal(in, (enum mr_backend)b, &text);
	return mr_err(err, MR_E_KERNEL, EOPNOTSUPP, "%s", buf);
}

int mr_choose(const struct mr_choose_in *in, struct mr_choice *ret, struct mr_error *err)
{
	struct mr_choice choice = { .backend = best_of(in) };
	struct mr_str why;

	if (choice.backend == MR_BACKEND_AUTO)
		return refuse(in, err);
	choice.lost = needs_lost(in, choice.backend);
	mr_str_init(&why, choice.why, sizeof(choice.why));
	if (in->wish != MR_BACKEND_AUTO && choice.backend != MR_BACKEND_NATIVE)
		mr_str_add(&why, "asked for by name");
	else if (choice.backend != MR_BACKEND_NATIVE)
		refusal(in, MR_BACKEND_NATIVE, &why);
	*ret = choice;
	return 0;
}

json_t *mr_choice_to_json(const struct mr_choice *choice)
{
	json_t *losses = json_array();

	for (unsigned int i = 0; i < MR_NEED_COUNT_; i++) {
		const enum mr_backend_need need = (enum mr_backend_need)i;
		const char *text = NULL;

		if (!(choice->lost >> i & 1))
			continue;
		mr_backend_can(choice->backend, need, &text);
		json_array_append_new(losses, json_pack("{s:s, s:s}", "item",
							mr_backend_need_name(need), "text", text));
	}
	return json_pack("{s:s, s:s?, s:o}", "name", mr_backend_name(choice->backend), "why",
			 choice->why[0] ? choice->why : NULL, "losses", losses);
}

/* What may have been lost, and was not. */
static uint64_t needs_had(const json_t *result)
{
	const json_t *telemetry = json_object_get(result, "telemetry");

	return json_is_string(json_object_get(telemetry, "level")) ? MR_NEED_BIT(telemetry) : 0;
}

void mr_choice_put(const struct mr_choice *choice, json_t *result)
{
	struct mr_choice known = *choice;
	const uint64_t had = needs_had(result);

	for (unsigned int i = 0; i < MR_NEED_COUNT_; i++)
		if (had >> i & 1 && mr_backend_can(choice->backend, (enum mr_backend_need)i,
						   NULL) == MR_BACKEND_MAY_LOSE)
			known.lost &= ~(UINT64_C(1) << i);
	json_object_set_new(json_object_get(result, "receipt"), "backend",
			    mr_choice_to_json(&known));
}
