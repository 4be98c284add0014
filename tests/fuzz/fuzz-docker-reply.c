/* SPDX-License-Identifier: Apache-2.0 */
/* Any answer of an engine, read as each of those that we read: what is taken keeps its promises. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_reply.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_printable(const char *text)
{
	for (; *text; text++)
		mr_assert((unsigned char)*text >= 0x20 && (unsigned char)*text < 0x7f);
}

static void read_all(const json_t *reply)
{
	struct mr_error err = MR_ERROR_INIT;
	char id[MR_DOCKER_ID_SIZE] = "", warnings[100] = "";
	struct mr_docker_state state;
	struct mr_docker_stats stats;
	struct mr_docker_apis apis;
	int status = 0;

	if (mr_docker_reply_created(reply, id, warnings, sizeof(warnings), &err) == 0)
		mr_assert(strlen(id) == 64 && !strchr(id, '/'));
	check_printable(warnings);
	if (mr_docker_reply_waited(reply, &status, &err) == 0)
		mr_assert(status >= 0 && status <= 255);
	if (mr_docker_reply_apis(reply, &apis, &err) == 0)
		mr_assert(apis.oldest <= 9999 && apis.newest <= 9999);
	if (mr_docker_reply_state(reply, &state, &err) == 0)
		check_printable(state.error);
	if (mr_docker_reply_stats(reply, &stats, &err) == 0)
		mr_assert(json_is_object(reply));
	if (mr_docker_create_verify(reply, reply, &err) == 0)
		mr_assert(json_is_object(json_object_get(reply, "HostConfig")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mr_auto_json json_t *reply = NULL;
	struct mr_error err = MR_ERROR_INIT;
	char message[100];

	mr_docker_reply_message((const char *)data, size, message, sizeof(message));
	check_printable(message);
	if (mr_docker_reply_parse((const char *)data, size, "fuzz", &reply, &err) == 0)
		read_all(reply);
	return 0;
}
