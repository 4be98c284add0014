/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No names, no plug-ins
 *
 * The netlink library can turn names into addresses and protocols, and OpenSSL can ask
 * the host's resolver and load shared objects, which our static programs never want of
 * them.  With these in place of libc's (the linker's --wrap) they have no code for it.
 */
#include <netdb.h>
#include <stddef.h>

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret);
struct hostent *__wrap_gethostbyname(const char *name);
struct protoent *__wrap_getprotobyname(const char *name);
struct protoent *__wrap_getprotobynumber(int number);
void *__wrap_dlopen(const char *path, int flags);

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

struct hostent *__wrap_gethostbyname(const char *name)
{
	(void)name;
	return NULL;
}

void *__wrap_dlopen(const char *path, int flags)
{
	(void)path;
	(void)flags;
	return NULL;
}
