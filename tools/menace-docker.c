/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-docker: a run in a container of a Docker Engine
 *
 * Started by menace-run (runtime/backend/handover.h).
 */
int main(void)
{
	return 2;
}
