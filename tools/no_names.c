/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No names
 *
 * The netlink library can turn names into addresses and protocols, which menace-run
 * never asks of it.  With these in place of libc's (the linker's --wrap) a static
 * menace-run carries no resolver, and no code that would load a shared object.
 */
#include <netdb.h>
#include <stddef.h>

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret);
struct protoent *__wrap_getprotobyname(const char *name);
struct protoent *__wrap_getprotobynumber(int number);

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret)
{
	(void)node;
	(void)service;
	(void)hints;
	*ret = NULL;
	return EAI_FAIL;
}

struct protoent *__wrap_getprotobyname(const char *name)
{
	(void)name;
	return NULL;
}

struct protoent *__wrap_getprotobynumber(int number)
{
	(void)number;
	return NULL;
}
