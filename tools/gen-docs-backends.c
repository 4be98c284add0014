/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-docs: the table of runtime/backend/backends.def
 */
#include "runtime/backend/backend.h"
#include "tools/gen-docs.h"

static const char *can_word(enum mr_backend backend, enum mr_backend_need need)
{
	static const char *const words[] = {
		[MR_BACKEND_CAN] = "yes",
		[MR_BACKEND_LOSS] = "lost",
		[MR_BACKEND_MAY_LOSE] = "mostly",
		[MR_BACKEND_CANNOT] = "no",
	};

	return words[mr_backend_can(backend, need, NULL)];
}

static void put_losses(enum mr_backend backend)
{
	printf("What *--backend %s* loses:\n\n", mr_backend_name(backend));
	for (unsigned int i = 0; i < MR_NEED_COUNT_; i++) {
		const char *loss = NULL;

		mr_backend_can(backend, (enum mr_backend_need)i, &loss);
		if (!loss)
			continue;
		put_strong(mr_backend_need_name((enum mr_backend_need)i));
		printf("\n\t");
		put(loss);
		printf(".\n\n");
	}
}

void mr_docs_put_backends(void)
{
	printf("[[ *what a run needs*\n:[ *native*\n:[ *docker*\n:[ *qemu*\n");
	for (unsigned int i = 0; i < MR_NEED_COUNT_; i++) {
		printf("|  ");
		put(mr_backend_need_text((enum mr_backend_need)i));
		for (unsigned int b = MR_BACKEND_NATIVE; b <= MR_BACKEND_QEMU; b++)
			printf("\n:  %s", can_word((enum mr_backend)b, (enum mr_backend_need)i));
		printf("\n");
	}
	printf("\n");
	put_losses(MR_BACKEND_DOCKER);
	put_losses(MR_BACKEND_QEMU);
}
