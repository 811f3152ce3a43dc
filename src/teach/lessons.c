/* The course: the lessons of docs/course, which tools/lesson.sh turned into texts and pages. */
#include "vbslab/teach.h"

#include "base/embedded.h"
#include "base/fail.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
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

/* ---- pages that link to each other ---- */

#define COURSE "A course in seven lessons"
/* Where the frame of all pages (lesson.html) has the title, and begins and ends the lesson. */
#define TITLE "<title>"
#define BEGIN "<main>\n"
#define END   "</main>"

char *vbs_lesson_file(int64_t number, char name[VBS_LESSON_FILE_SIZE])
{
    if (number == 0)
        snprintf(name, VBS_LESSON_FILE_SIZE, "index.html");
    else
        snprintf(name, VBS_LESSON_FILE_SIZE, "lesson-%lld.html", (long long)number);
    return name;
}

static void add_escaped(struct vbs_text *text, const char *plain)
{
    for (; *plain; plain++)
        if (*plain == '&')
            vbs_text_add(text, "&amp;");
        else if (*plain == '<')
            vbs_text_add(text, "&lt;");
        else
            vbs_text_add_bytes(text, plain, 1);
}

/* Adds a link to a page: ` class="next" rel="next"` and the like, and the words of the link. */
static void add_link(struct vbs_text *text, int64_t number, const char *attributes,
                     const char *words)
{
    char name[VBS_LESSON_FILE_SIZE];

    vbs_text_addf(text, "<a%s href=\"%s\">", attributes, vbs_lesson_file(number, name));
    add_escaped(text, words);
    vbs_text_add(text, "</a>");
}

static enum vbs_status add_links(struct vbs_ctx *ctx, struct vbs_text *text, int64_t number)
{
    struct vbs_lesson lesson;

    vbs_text_add(text, "<nav aria-label=\"course\">\n");
    if (number > 1) {
        VBS_TRY(vbs_lesson_open(ctx, number - 1, &lesson));
        vbs_text_add(text, "<span>Before: ");
        add_link(text, number - 1, " rel=\"prev\"", lesson.title);
        vbs_text_add(text, "</span>\n");
    }
    vbs_text_add(text, "<span>");
    add_link(text, 0, "", "All lessons");
    vbs_text_add(text, "</span>\n");
    if (number < VBS_LESSONS) {
        VBS_TRY(vbs_lesson_open(ctx, number + 1, &lesson));
        vbs_text_add(text, "<span>Next: ");
        add_link(text, number + 1, " rel=\"next\"", lesson.title);
        vbs_text_add(text, "</span>\n");
    }
    vbs_text_add(text, "</nav>\n");
    return VBS_OK;
}

static enum vbs_status add_list(struct vbs_ctx *ctx, struct vbs_text *text)
{
    struct vbs_lesson lesson;

    vbs_text_add(text, "<h1>" COURSE "</h1>\n"
                       "<p>How does a network run in little memory, and how does one find the "
                       "fastest way? A lesson takes 20 to 30 minutes, with paper, a pencil and the "
                       "program <code>vbslab</code>. Each ends with an exercise and its "
                       "solution.</p>\n<ul class=\"lessons\">\n");
    for (int number = 1; number <= VBS_LESSONS; number++) {
        VBS_TRY(vbs_lesson_open(ctx, number, &lesson));
        vbs_text_add(text, "<li>");
        add_link(text, number, "", lesson.title);
        vbs_text_add(text, "</li>\n");
    }
    vbs_text_add(text, "</ul>\n");
    return VBS_OK;
}

static enum vbs_status add_page(struct vbs_ctx *ctx, struct vbs_text *text, int64_t number)
{
    struct vbs_lesson lesson;
    const char *title, *begin, *end;

    VBS_TRY(vbs_lesson_open(ctx, number == 0 ? 1 : number, &lesson));
    title = strstr(lesson.page, TITLE) + strlen(TITLE);
    begin = strstr(title, BEGIN) + strlen(BEGIN);
    end = strstr(begin, END);
    vbs_text_add_bytes(text, lesson.page, (size_t)((number == 0 ? title : begin) - lesson.page));
    if (number == 0) { /* the frame of lesson 1, with another title */
        title += strcspn(title, "<");
        vbs_text_add(text, COURSE);
        vbs_text_add_bytes(text, title, (size_t)(begin - title));
        VBS_TRY(add_list(ctx, text));
    } else {
        VBS_TRY(add_links(ctx, text, number));
        vbs_text_add_bytes(text, begin, (size_t)(end - begin));
        VBS_TRY(add_links(ctx, text, number));
    }
    vbs_text_add(text, end);
    return text->failed ? vbs_no_memory(ctx) : VBS_OK;
}

enum vbs_status vbs_lesson_linked_page(struct vbs_ctx *ctx, int64_t number, char **page)
{
    struct vbs_text text = {0};
    enum vbs_status status = add_page(ctx, &text, number);

    if (status != VBS_OK) {
        vbs_text_clear(&text);
        return status;
    }
    *page = text.data;
    return VBS_OK;
}
