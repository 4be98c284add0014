/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order
 */
#include "runtime/backend/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

static const char magic[8] = "menace1\n";

static void add_text(struct mr_buf *buf, const char *text)
{
	mr_buf_addn(buf, text, strlen(text) + 1);
}

char *mr_order_make(const char *folder, char *const *argv, char *const *envp, size_t *ret_size)
{
	struct mr_order_head head = { .zero = 0 };
	mr_auto_buf struct mr_buf texts = { 0 };
	char number[24], *order;
	struct mr_str str;
	size_t n = 0;

	while (argv[n])
		n++;
	mr_str_init(&str, number, sizeof(number));
	mr_str_printf(&str, "%zu", n);
	add_text(&texts, folder);
	add_text(&texts, number);
	for (size_t i = 0; i < n; i++)
		add_text(&texts, argv[i]);
	for (size_t i = 0; envp && envp[i]; i++)
		add_text(&texts, envp[i]);
	if (texts.len > MR_ORDER_MAX)
		return NULL;
	memcpy(head.magic, magic, sizeof(magic));
	head.size = (uint32_t)texts.len;
	order = mr_str_alloc(sizeof(head) + texts.len);
	memcpy(order, &head, sizeof(head));
	memcpy(order + sizeof(head), texts.text, texts.len);
	*ret_size = sizeof(head) + texts.len;
	return order;
}

char *mr_order_ask(size_t *ret_size)
{
	struct mr_order_head *head = mr_str_alloc(sizeof(*head));

	memcpy(head->magic, magic, sizeof(magic));
	*ret_size = sizeof(*head);
	return (char *)head;
}

static bool is_ours(const struct mr_order_head *head)
{
	return memcmp(head->magic, magic, sizeof(magic)) == 0 && head->zero == 0;
}

bool mr_order_head_asks(const struct mr_order_head *head)
{
	return is_ours(head) && head->size == 0;
}

bool mr_order_head_is_good(const struct mr_order_head *head)
{
	return is_ours(head) && head->size > 0 && head->size <= MR_ORDER_MAX;
}

/* The next text, or NULL at the end. */
static char *next_text(char **at, const char *end)
{
	char *text = *at;

	if (text >= end)
		return NULL;
	*at = text + strlen(text) + 1;
	return text;
}

static bool has_name_of(char *const *envp, size_t n, const char *variable)
{
	const size_t len = strcspn(variable, "=");

	for (size_t i = 0; i < n; i++)
		if (strncmp(envp[i], variable, len) == 0 && envp[i][len] == '=')
			return true;
	return false;
}

/* The rest of the texts, then what the container has beside them. */
static char **take_variables(char *at, const char *end, char *const *environment)
{
	size_t n = 0, cap = 0;
	char **envp = NULL, *text;

	while ((text = next_text(&at, end))) {
		envp = mr_str_grow(envp, n, &cap, sizeof(*envp));
		envp[n++] = text;
	}
	for (size_t i = 0, given = n; environment && environment[i]; i++) {
		if (has_name_of(envp, given, environment[i]))
			continue;
		envp = mr_str_grow(envp, n, &cap, sizeof(*envp));
		envp[n++] = environment[i];
	}
	envp = mr_str_grow(envp, n, &cap, sizeof(*envp));
	envp[n] = NULL;
	return envp;
}

int mr_order_parse(char *text, size_t size, char *const *environment, const char **ret_folder,
		   char ***ret_argv, char ***ret_envp, struct mr_error *err)
{
	const char *end = text + size;
	char *at = text;
	const char *folder = next_text(&at, end), *number = next_text(&at, end);
	uint64_t n = 0;
	mr_auto_free char **argv = NULL;

	if (size == 0 || text[size - 1] != '\0' || !number ||
	    mr_units_parse_count(number, &n, NULL) < 0 || n == 0 || n > size)
		return mr_err(err, MR_E_PROTO, EPROTO, "the order to start something is garbage");
	argv = mr_str_alloc((n + 1) * sizeof(*argv));
	for (uint64_t i = 0; i < n; i++) {
		argv[i] = next_text(&at, end);
		if (!argv[i])
			return mr_err(err, MR_E_PROTO, EPROTO,
				      "the order to start something has %" PRIu64
				      " arguments, not %" PRIu64,
				      i, n);
	}
	*ret_folder = folder;
	*ret_envp = take_variables(at, end, environment);
	*ret_argv = mr_take_ptr(argv);
	return 0;
}
