/* Layouts held against memory in which every byte knows what it holds: slow, and shares no code
 * with what makes them. */
#ifndef TESTS_LAYOUT_CHECK_H
#define TESTS_LAYOUT_CHECK_H

#include "exec/layout/layout.h"

/*
 * What is wrong with a fit's layout within so many bytes; null: nothing. Walks through the slots of
 * the schedule: what is born lies where nothing lives, moves carry all that they must to where it
 * is looked for and go over nothing that lives, loads that are moved have ended before, and those
 * that moves wait for do not wait for these moves themselves.
 */
const char *layout_fault(const struct vbs_exec_fit *fit, int64_t room_bytes);

#endif
