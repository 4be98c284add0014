/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics
 */
#include "runtime/backend/qemu_diagnostics.h"

#include <sys/wait.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/supervise/capture.h"

json_t *mr_machine_span_json(uint64_t ns)
{
	return ns ? json_integer((json_int_t)(ns / 1000000)) : json_null();
}

json_t *mr_machine_console_json(const struct mr_capture *console)
{
	mr_auto_json json_t *kept = mr_capture_to_json(console);
	static const char *const names[] = { "text", "tail", "base64" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (json_is_string(json_object_get(kept, names[i])))
			return json_incref(json_object_get(kept, names[i]));
	return json_null();
}

json_t *mr_machine_exit_json(bool has_exit, int wait_status)
{
	if (!has_exit)
		return json_null();
	return json_integer(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
						   : -WTERMSIG(wait_status));
}
