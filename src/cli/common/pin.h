/* Threads that stay on their cores. */
#ifndef VBS_CLI_COMMON_PIN_H
#define VBS_CLI_COMMON_PIN_H

#include "cli/common/cli.h"

/*
 * Settles how many threads compute, and binds them to cores unless other programs run for which
 * there would then be too few processors; threads that wait also sleep sooner there. libgomp reads
 * its settings when the program is loaded, so unless the user has set OMP_PROC_BIND the program is
 * started again with them; call this before anything that uses OpenMP or must not happen twice.
 * *threads: the requested number or 0, and then the number to use, 0 where libgomp chooses. Warns
 * where the program cannot be started again. Returns whether libgomp knows the number by itself.
 */
bool cli_pin_threads(struct cli *cli, int *threads);

/* Gives whether cli_pin_threads started this program again, until it is called in it: the first
 * process has already printed all messages before that call. */
bool cli_is_started_anew(void);

/* Gives the number, or the limit of OpenMP (OMP_THREAD_LIMIT) where that is less: for numbers that
 * the user has not given, because a session refuses one above the limit. */
int cli_limit_threads(int threads);

/* Fails with VBS_USAGE where more threads would compute than there are processors for this process;
 * threads 0: as many as OMP_NUM_THREADS says. */
enum vbs_status cli_check_threads(struct cli *cli, int threads) VBS_MUST_CHECK;

#endif
