/* The course: the lessons of docs/course, which tools/lesson.sh turned into texts and pages. */
#include "vbslab/teach.h"

#include "base/embedded.h"
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

/* docs/course/N-NAME.md, in the order of N, by tools/embed.sh. */
extern const struct vbs_embedded vbs_lesson_texts[], vbs_lesson_pages[];

enum vbs_status vbs_lesson_open(struct vbs_ctx *ctx, int64_t number, struct vbs_lesson *lesson)
{
    const char *text;

    if (number < 1 || number > VBS_LESSONS)
        return vbs_fail(ctx, VBS_NOT_FOUND, "there is no lesson %lld; lessons are 1..%d",
                        (long long)number, VBS_LESSONS);
    text = vbs_lesson_texts[number - 1].text;
    *lesson = (struct vbs_lesson){.text = text, .page = vbs_lesson_pages[number - 1].text};
    /* The first line of a text is its title. */
    snprintf(lesson->title, sizeof lesson->title, "%.*s", (int)strcspn(text, "\n"), text);
    return VBS_OK;
}
