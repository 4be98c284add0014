/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/choose.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"

#define ALWAYS                                                                       \
	(MR_NEED_BIT(usage) | MR_NEED_BIT(denials) | MR_NEED_BIT(receipt) |          \
	 MR_NEED_BIT(time_namespace) | MR_NEED_BIT(exit_status) | MR_NEED_BIT(oom) | \
	 MR_NEED_BIT(surroundings) | MR_NEED_BIT(reader))

/* Everybody can. */
static void all_can(struct mr_backend_facts facts[MR_BACKEND_QEMU + 1])
{
	for (int b = 0; b <= MR_BACKEND_QEMU; b++)
		facts[b] = (struct mr_backend_facts){ .asked = true, .can = true };
}

static void refuse(struct mr_backend_facts *facts, const char *why)
{
	facts->can = false;
	snprintf(facts->why, sizeof(facts->why), "%s", why);
}

static void native_is_taken_where_it_can(void **state)
{
	struct mr_backend_facts facts[MR_BACKEND_QEMU + 1];
	const struct mr_choose_in in = { MR_BACKEND_AUTO, ALWAYS, facts };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_choice choice;

	(void)state;
	all_can(facts);
	assert_int_equal(mr_choose(&in, &choice, &err), 0);
	assert_int_equal(choice.backend, MR_BACKEND_NATIVE);
	assert_string_equal(choice.why, "");
	assert_int_equal(choice.lost, 0);
}

static void then_the_one_that_loses_least(void **state)
{
	struct mr_backend_facts facts[MR_BACKEND_QEMU + 1];
	const struct mr_choose_in in = { MR_BACKEND_AUTO, ALWAYS, facts };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_choice choice;

	(void)state;
	all_can(facts);
	refuse(&facts[MR_BACKEND_NATIVE], "no control group can be had");
	assert_int_equal(mr_choose(&in, &choice, &err), 0);
	assert_int_equal(choice.backend, MR_BACKEND_QEMU);
	assert_string_equal(choice.why, "no control group can be had");
	assert_int_equal(choice.lost, MR_NEED_BIT(receipt) | MR_NEED_BIT(reader));

	refuse(&facts[MR_BACKEND_QEMU], "no kernel");
	assert_int_equal(mr_choose(&in, &choice, &err), 0);
	assert_int_equal(choice.backend, MR_BACKEND_DOCKER);
	assert_int_equal(choice.lost, ALWAYS);
}

static void what_cannot_be_done_is_no_candidate(void **state)
{
	struct mr_backend_facts facts[MR_BACKEND_QEMU + 1];
	struct mr_choose_in in = { MR_BACKEND_AUTO, ALWAYS | MR_NEED_BIT(image), facts };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_choice choice;

	(void)state;
	all_can(facts);
	assert_int_equal(mr_choose(&in, &choice, &err), 0);
	assert_int_equal(choice.backend, MR_BACKEND_DOCKER);
	assert_string_equal(choice.why, "does not do sandbox.image");

	in.needs |= MR_NEED_BIT(tty);
	assert_int_equal(mr_choose(&in, &choice, &err), -EOPNOTSUPP);
	assert_int_equal(err.code, MR_E_KERNEL);
	assert_string_equal(err.msg, "backend native: does not do sandbox.image; backend docker: "
				     "does not do a terminal; backend qemu: does not do a "
				     "terminal, sandbox.image");
}

static void a_name_is_the_only_candidate(void **state)
{
	struct mr_backend_facts facts[MR_BACKEND_QEMU + 1];
	struct mr_choose_in in = { MR_BACKEND_DOCKER, ALWAYS, facts };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_choice choice;

	(void)state;
	all_can(facts);
	assert_int_equal(mr_choose(&in, &choice, &err), 0);
	assert_int_equal(choice.backend, MR_BACKEND_DOCKER);
	assert_string_equal(choice.why, "asked for by name");
	refuse(&facts[MR_BACKEND_DOCKER], "no engine");
	assert_int_equal(mr_choose(&in, &choice, &err), -EOPNOTSUPP);
	assert_string_equal(err.msg, "backend docker: no engine");
	in.wish = MR_BACKEND_NATIVE;
	refuse(&facts[MR_BACKEND_NATIVE], "no landlock");
	assert_int_equal(mr_choose(&in, &choice, &err), -EOPNOTSUPP);
	assert_string_equal(err.msg, "no landlock");
}

static void all_refusals_are_told(void **state)
{
	struct mr_backend_facts facts[MR_BACKEND_QEMU + 1];
	const struct mr_choose_in in = { MR_BACKEND_AUTO, ALWAYS | MR_NEED_BIT(conditions), facts };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_choice choice;

	(void)state;
	all_can(facts);
	refuse(&facts[MR_BACKEND_NATIVE], "this kernel has no sch_netem");
	facts[MR_BACKEND_QEMU].lacks = MR_NEED_BIT(conditions);
	assert_int_equal(mr_choose(&in, &choice, &err), -EOPNOTSUPP);
	assert_string_equal(err.msg,
			    "this kernel has no sch_netem; backend docker: does not do conditions "
			    "and faults of the network link; backend qemu: does not do conditions "
			    "and faults of the network link");
}

static void who_was_not_asked_is_not_taken(void **state)
{
	struct mr_backend_facts facts[MR_BACKEND_QEMU + 1];
	const struct mr_choose_in in = { MR_BACKEND_AUTO, ALWAYS, facts };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_choice choice;

	(void)state;
	memset(facts, 0, sizeof(facts));
	assert_int_equal(mr_choose(&in, &choice, &err), -EOPNOTSUPP);
	assert_string_equal(err.msg, "was not asked; backend docker: was not asked; backend qemu: "
				     "was not asked");
}

static void each_loss_is_in_the_receipt(void **state)
{
	const struct mr_choice choice = { MR_BACKEND_DOCKER, "a reason",
					  MR_NEED_BIT(landlock) | MR_NEED_BIT(disk) };
	mr_auto_json json_t *result = json_pack("{s:{}}", "receipt");
	mr_auto_free char *text = NULL;

	(void)state;
	mr_choice_put(&choice, result);
	text = json_dumps(result, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(
		text,
		"{\"receipt\":{\"backend\":{\"losses\":[{\"item\":\"landlock\",\"text\":\"no "
		"Landlock: what may be written is what is mounted writable\"},{\"item\":\"disk\","
		"\"text\":\"limits.disk_bytes and limits.disk_inodes hold for each writable place "
		"by itself\"}],\"name\":\"docker\",\"why\":\"a reason\"}}}");
}

static bool states_telemetry(json_t *telemetry)
{
	const struct mr_choice choice = { MR_BACKEND_DOCKER, "", MR_NEED_BIT(telemetry) };
	mr_auto_json json_t *result = json_pack("{s:{}, s:o}", "receipt", "telemetry", telemetry);

	mr_choice_put(&choice, result);
	return json_array_size(mr_json_at(result, "receipt", "backend", "losses")) == 1;
}

static void what_may_be_lost_is_not_where_it_is_there(void **state)
{
	(void)state;
	assert_true(states_telemetry(json_null()));
	assert_true(states_telemetry(json_pack("{s:n}", "level")));
	assert_false(states_telemetry(json_pack("{s:s}", "level", "basic")));
}

static uint64_t needs_of(const char *const *assignments)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;
	uint64_t needs;

	mr_spec_init(&spec);
	for (; *assignments; assignments++)
		if (mr_spec_set_assignment(&spec, *assignments, &err) < 0)
			fail_msg("%s", err.msg);
	needs = mr_backend_needs(&spec);
	mr_spec_deinit(&spec);
	return needs;
}

static void needs_are_what_a_spec_asks(void **state)
{
	const uint64_t usual = ALWAYS | MR_NEED_BIT(telemetry) | MR_NEED_BIT(landlock) |
			       MR_NEED_BIT(disk) | MR_NEED_BIT(net_none);
	static const char *const none[] = { NULL };
	static const char *const little[] = {
		"telemetry.level=off",		"sandbox.level=2",   "limits.disk_bytes=unlimited",
		"limits.disk_inodes=unlimited", "net.mode=loopback", NULL
	};
	static const char *const link[] = { "net.mode=loopback", "net.loss_percent=1", NULL };
	static const char *const cpu[] = { "limits.cpu_time_ms=300", NULL };
	static const char *const swap[] = { "limits.memory_max_bytes=unlimited", NULL };
	static const char *const swaps[] = { "limits.memory_max_bytes=unlimited",
					     "limits.swap_max_bytes=unlimited", NULL };
	static const char *const level[] = { "sandbox.level=4", NULL };
	static const char *const image[] = { "sandbox.image=x", "sandbox.tty=1", NULL };

	(void)state;
	assert_int_equal(needs_of(none), usual);
	assert_int_equal(needs_of(little), ALWAYS | MR_NEED_BIT(loopback));
	assert_int_equal(needs_of(link), (usual & ~MR_NEED_BIT(net_none)) | MR_NEED_BIT(loopback) |
						 MR_NEED_BIT(conditions));
	assert_int_equal(needs_of(cpu), usual | MR_NEED_BIT(cpu_time));
	assert_int_equal(needs_of(swap), usual | MR_NEED_BIT(swap));
	assert_int_equal(needs_of(swaps), usual);
	assert_int_equal(needs_of(level), usual | MR_NEED_BIT(no_exec));
	assert_int_equal(needs_of(image), usual | MR_NEED_BIT(image) | MR_NEED_BIT(tty));
}

/* A spec does not have it; each backend but native loses it. */
static void a_group_above_is_of_native_alone(void **state)
{
	static const enum mr_backend others[] = { MR_BACKEND_DOCKER, MR_BACKEND_QEMU };
	struct mr_backend_facts facts[MR_BACKEND_QEMU + 1];
	struct mr_choose_in in = { MR_BACKEND_AUTO, ALWAYS | MR_NEED_BIT(cgroup_parent), facts };
	static const char *const none[] = { NULL };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_choice choice;

	(void)state;
	assert_int_equal(needs_of(none) & MR_NEED_BIT(cgroup_parent), 0);
	all_can(facts);
	assert_int_equal(mr_choose(&in, &choice, &err), 0);
	assert_int_equal(choice.backend, MR_BACKEND_NATIVE);
	assert_int_equal(choice.lost, 0);
	for (size_t i = 0; i < N_ELEMENTS(others); i++) {
		in.wish = others[i];
		assert_int_equal(mr_choose(&in, &choice, &err), 0);
		assert_int_equal(choice.backend, others[i]);
		assert_int_equal(choice.lost & MR_NEED_BIT(cgroup_parent),
				 MR_NEED_BIT(cgroup_parent));
	}
}

static void what_is_handed_on_is_looked_at(void **state)
{
	static const struct {
		const char *value; /* NULL: there is none */
		bool bytes;
	} rows[] = { { "plain", false }, { "\xc5\xbe", false }, { "", false },
		     { NULL, false },	 { "\xff", true },	{ "a\xc5", true } };
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_spec spec;

		mr_spec_init(&spec);
		assert_int_equal(mr_spec_add_env_pass(&spec, "MENACE_TEST_PASSED", &err), 0);
		assert_int_equal(rows[i].value ? setenv("MENACE_TEST_PASSED", rows[i].value, 1)
					       : unsetenv("MENACE_TEST_PASSED"),
				 0);
		assert_int_equal((mr_backend_needs(&spec) & MR_NEED_BIT(bytes)) != 0,
				 rows[i].bytes);
		mr_spec_deinit(&spec);
	}
	assert_int_equal(unsetenv("MENACE_TEST_PASSED"), 0);
}

static void a_name_of_other_bytes_is_no_image(void **state)
{
	static const char *const image[] = { "sandbox.image=a\xff", NULL };

	(void)state;
	assert_true(needs_of(image) & MR_NEED_BIT(bytes));
}

static void every_need_has_a_name(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < MR_NEED_COUNT_; i++) {
		const enum mr_backend_need need = (enum mr_backend_need)i;

		assert_int_equal(mr_backend_need_find(mr_backend_need_name(need)), need);
		for (unsigned int b = MR_BACKEND_NATIVE; b <= MR_BACKEND_QEMU; b++) {
			const char *loss = NULL;
			const enum mr_backend_can can =
				mr_backend_can((enum mr_backend)b, need, &loss);
			const bool loses = can == MR_BACKEND_LOSS || can == MR_BACKEND_MAY_LOSE;

			assert_int_equal(loses, loss != NULL);
			assert_false(loses && b == MR_BACKEND_NATIVE);
		}
	}
	assert_int_equal(mr_backend_need_find("nothing"), MR_NEED_COUNT_);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_is_taken_where_it_can),
		cmocka_unit_test(then_the_one_that_loses_least),
		cmocka_unit_test(what_cannot_be_done_is_no_candidate),
		cmocka_unit_test(a_name_is_the_only_candidate),
		cmocka_unit_test(all_refusals_are_told),
		cmocka_unit_test(who_was_not_asked_is_not_taken),
		cmocka_unit_test(each_loss_is_in_the_receipt),
		cmocka_unit_test(what_may_be_lost_is_not_where_it_is_there),
		cmocka_unit_test(needs_are_what_a_spec_asks),
		cmocka_unit_test(a_group_above_is_of_native_alone),
		cmocka_unit_test(what_is_handed_on_is_looked_at),
		cmocka_unit_test(a_name_of_other_bytes_is_no_image),
		cmocka_unit_test(every_need_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
