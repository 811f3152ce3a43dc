/* Checks layouts in a memory that knows the contents of every byte. It is slow, and shares no code
 * with the functions that make layouts. */
#ifndef TESTS_LAYOUT_CHECK_H
#define TESTS_LAYOUT_CHECK_H

#include "exec/layout/layout.h"

/*
 * Gives the fault of a fit's layout within so many bytes; null: there is none. It goes through the
 * slots of the schedule, and checks that buffers are born where nothing lives; that moves bring all
 * bytes to the addresses where steps read them, and overwrite nothing that lives; that loads have
 * ended before their buffers are moved; and that loads for which moves wait do not wait for these
 * moves themselves.
 */
const char *layout_fault(const struct vbs_exec_fit *fit, int64_t room_bytes);

#endif
