/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choose: which backend does a run
 *
 * A pure function of what is asked for and of what is known.  With "auto" native is taken
 * wherever it can do the run, else the backend that loses least, in the order of backends.def
 * where two lose as much; what is left out by a loss is named in the receipt.  A backend
 * asked for by name is the only one that is considered.  The bare host is none of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/spec/spec.h"

struct json_t;
struct mr_error;

#define MR_CHOOSE_WHY 504

/* What is known of one backend on this host. */
struct mr_backend_facts {
	bool asked; /* false: nobody looked; it is then not chosen */
	bool can; /* it is there, and would begin this run */
	char why[MR_CHOOSE_WHY]; /* why it cannot */
	uint64_t lacks; /* MR_NEED_BITs it cannot do here, beside those of the table */
};

struct mr_choose_in {
	enum mr_backend wish;
	uint64_t needs; /* MR_NEED_BITs */
	const struct mr_backend_facts *facts; /* by enum mr_backend */
};

struct mr_choice {
	enum mr_backend backend; /* never MR_BACKEND_AUTO */
	char why[MR_CHOOSE_WHY]; /* one line: why not native; "" where native was not refused */
	uint64_t lost; /* MR_NEED_BITs */
};

/* MR_E_KERNEL where no backend can: native's refusal first, then each other's. */
int mr_choose(const struct mr_choose_in *in, struct mr_choice *ret, struct mr_error *err);
/* Would this backend be considered at all?  False saves the question (see facts.asked). */
bool mr_choose_is_candidate(const struct mr_choose_in *in, enum mr_backend backend);

/* Member "backend" of a receipt: {name, why, losses: [{item, text}]}; new reference. */
struct json_t *mr_choice_to_json(const struct mr_choice *choice);
/* Put it into the receipt of a result, without what may have been lost and is there. */
void mr_choice_put(const struct mr_choice *choice, struct json_t *result);
