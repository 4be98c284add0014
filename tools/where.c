/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where
 */
#include "tools/where.h"

#include <stdio.h>
#include <string.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/document.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/supervise/lease.h"

void mr_where_init(struct mr_where *where, const struct mr_spec *spec, const char *cgroup_parent)
{
	*where = (struct mr_where){ .spec = spec };
	for (unsigned int b = MR_BACKEND_NATIVE; b <= MR_BACKEND_QEMU; b++)
		where->facts[b] = (struct mr_backend_facts){ .asked = true, .can = true };
	where->in = (struct mr_choose_in){ .wish = (enum mr_backend)spec->sandbox_backend,
					   .needs = mr_backend_needs(spec) };
	if (cgroup_parent)
		where->in.needs |= MR_NEED_BIT(cgroup_parent);
}

static void tell(const struct mr_choice *choice)
{
	char buf[512];
	struct mr_str losses;

	if (choice->backend == MR_BACKEND_NATIVE)
		return;
	mr_str_init(&losses, buf, sizeof(buf));
	for (unsigned int i = 0; i < MR_NEED_COUNT_; i++) {
		const enum mr_backend_need need = (enum mr_backend_need)i;

		if (choice->lost >> i & 1)
			mr_str_printf(&losses, "%s%s%s", losses.len ? ", " : "",
				      mr_backend_can(choice->backend, need, NULL) ==
						      MR_BACKEND_MAY_LOSE
					      ? "perhaps "
					      : "",
				      mr_backend_need_name(need));
	}
	mr_log_notice("backend %s (%s); lost: %s", mr_backend_name(choice->backend), choice->why,
		      losses.len ? buf : "nothing");
}

int mr_where_next(struct mr_where *where, const struct mr_error *refused, struct mr_error *err)
{
	int r;

	where->in.facts = where->facts;
	if (refused) {
		struct mr_backend_facts *facts = &where->facts[where->choice.backend];

		facts->can = false;
		snprintf(facts->why, sizeof(facts->why), "%s", refused->msg);
	}
	r = mr_choose(&where->in, &where->choice, err);
	if (r == 0)
		tell(&where->choice);
	return r;
}

bool mr_where_may_move(const struct mr_where *where, const struct mr_error *failed)
{
	return where->in.wish == MR_BACKEND_AUTO && failed->code == MR_E_KERNEL;
}

json_t *mr_where_refused(const struct mr_where *where, json_t *native, const struct mr_error *err)
{
	char run_id[MR_RUN_ID_SIZE];
	struct mr_document none = { .spec = where->spec,
				    .run_id = run_id,
				    .verdict = { .reason = MR_REASON_setup_error,
						 .exit_status = mr_errc_exit_status(err->code) },
				    .error = err };

	if (!native) {
		mr_lease_new_id(run_id);
		return mr_document_make(&none);
	}
	json_object_set_new(json_object_get(native, "error"), "message", json_string(err->msg));
	return native;
}
