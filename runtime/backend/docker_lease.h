/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, lease: whose a container is, and what becomes of it when its supervisor dies
 *
 * A container has the run's id as its name and as a label, and as another label where the lease of that
 * run is (boot and folder).  Who holds the lease (runtime/supervise/lease.h) lives.  A
 * container is removed by others only when its label names the folder of leases that they see
 * themselves, and nobody holds the lease in it: what another host, another boot of
 * a remote engine's client or another user has is never touched.
 *
 * The keeper is a process of ours that does nothing but wait for the end of its parent: when that ends
 * without having said goodbye (SIGKILL), it removes the container, so that nothing waits for
 * the next start.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "runtime/supervise/lease.h"

struct mr_docker;
struct mr_error;
struct mr_spec;

#define MR_DOCKER_NAME_PREFIX "menace-"
#define MR_DOCKER_LEASE_LABEL_SIZE 128

struct mr_docker_lease {
	int dir_fd, fd; /* folder of leases, and the lease held; -1 */
	char run_id[MR_RUN_ID_SIZE];
	char label[MR_DOCKER_LEASE_LABEL_SIZE];
	char *folder; /* files of ours that the container is shown; made, 0711 */
	pid_t keeper; /* 0: none */
	int keeper_fd; /* without a goodbye there its end is the signal to clean up */
};

/* Take the lease, make the folder, start the keeper.  Before anything is asked of the engine. */
int mr_docker_lease_open(const char *run_id, const struct mr_spec *spec,
			 struct mr_docker_lease *ret, struct mr_error *err);
/* A prepared container is the run's from here on: the keeper removes it, too. */
int mr_docker_lease_adopt(struct mr_docker_lease *lease, const char *id, struct mr_error *err);
/* All of the run is gone: give everything back. */
void mr_docker_lease_close(struct mr_docker_lease *lease);
/* Something is still there: leave the lease to die with us, and the rest to the keeper. */
void mr_docker_lease_abandon(struct mr_docker_lease *lease);

/* Remove this run's container, by its name.  1: it was not there, or somebody removes it already.
 * MR_E_KERNEL: it is still there. */
int mr_docker_lease_remove(struct mr_docker *docker, const char *run_id, struct mr_error *err);
/* The same for any container of ours, by what the engine calls it. */
int mr_docker_lease_remove_container(struct mr_docker *docker, const char *container,
				     struct mr_error *err);
/* What the label MR_DOCKER_LABEL_LEASE is for those who see this folder of leases. */
int mr_docker_lease_label(int dir_fd, char ret[MR_DOCKER_LEASE_LABEL_SIZE], struct mr_error *err);

/* And MR_DOCKER_LABEL_MACHINE, which outlives a reboot; "": this machine has no id. */
void mr_docker_lease_machine(char ret[MR_DOCKER_LEASE_LABEL_SIZE]);

/* The folder of files of a container, 0711: *ret is its path, malloc'd. */
int mr_docker_lease_make_folder(const char *id, char **ret, struct mr_error *err);
void mr_docker_lease_remove_folder(const char *id);
/* Its path, malloc'd; NULL: there is none. */
char *mr_docker_lease_folder_of(const char *id);
