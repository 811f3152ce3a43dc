/*
 * Cells of an answer.md (experiments/README.md describes it). Comments and the definitions below
 * them become a cell that makes the views; text up to the next empty line becomes a cell that fills
 * it in, or, where no query gives it numbers, a cell of text.
 */
#include "cli/notebook/notebook.h"

#include <string.h>

/* What is being gathered: definitions, or a paragraph or table of the answer. */
struct notebook_part {
    struct notebook_story *story;
    struct vbs_text definitions, answer;
    bool in_comment;  /* the last line was a comment, or a query below one */
    bool is_defined;  /* definitions have a query */
    bool needs_end;   /* the last query of the definitions is not ended */
    bool is_computed; /* the answer has a query */
};

/* Appends text between the quotes of a text of several lines. */
static void add_quoted(struct vbs_text *code, const char *text)
{
    if (strstr(text, "\"\"\"")) {
        notebook_add_literal(code, text);
        return;
    }
    vbs_text_add(code, "r\"\"\"\n");
    vbs_text_add(code, text);
    vbs_text_add(code, "\"\"\"");
}

/* Adds the call of a method of the experiment with a text. */
static enum vbs_status add_call(struct notebook_story *story, const char *method,
                                struct vbs_text *text)
{
    struct vbs_text code = {0};
    enum vbs_status status = VBS_OK;

    vbs_text_addf(&code, "experiment.%s(", method);
    while (text->length > 1 && text->data[text->length - 2] == '\n')
        text->data[--text->length] = '\0';
    if (text->data)
        add_quoted(&code, text->data);
    vbs_text_add(&code, ")");
    story->notebook->failed |= code.failed || text->failed;
    if (!story->notebook->failed)
        status = notebook_compute(story, code.data);
    vbs_text_clear(&code);
    vbs_text_clear(text);
    return status;
}

/* Ends the last query with a semicolon, behind its last line unless that ends in a comment. */
static void end_query(struct notebook_part *part)
{
    struct vbs_text *text = &part->definitions;
    const char *last;

    if (part->needs_end && text->data && text->length > 0) {
        text->data[text->length - 1] = '\0'; /* the end of the line */
        last = strrchr(text->data, '\n');
        if (strstr(last ? last : text->data, "--"))
            text->data[text->length - 1] = '\n';
        else
            text->length--;
        vbs_text_add(text, ";\n");
    }
    part->needs_end = false;
}

static enum vbs_status end_definitions(struct notebook_part *part)
{
    end_query(part);
    part->in_comment = false;
    if (part->is_defined) {
        part->is_defined = false;
        return add_call(part->story, "define", &part->definitions);
    }
    vbs_text_clear(&part->definitions);
    return VBS_OK;
}

static enum vbs_status end_answer(struct notebook_part *part)
{
    enum vbs_status status = VBS_OK;
    const char *at, *line;
    size_t length;

    if (part->is_computed) {
        part->is_computed = false;
        return add_call(part->story, "answer", &part->answer);
    }
    at = part->answer.data ? part->answer.data : "";
    while (status == VBS_OK && (line = notebook_next_line(&at, &length)) != NULL)
        status = notebook_tell(part->story, line, length);
    vbs_text_clear(&part->answer);
    return status;
}

static void add_line(struct vbs_text *text, const char *line, size_t length)
{
    vbs_text_add_bytes(text, line, length);
    vbs_text_add(text, "\n");
}

static enum vbs_status take_line(struct notebook_part *part, const char *line, size_t length)
{
    enum vbs_status status = VBS_OK;

    if (length >= 2 && line[0] == '-' && line[1] == '-') {
        status = end_answer(part);
        end_query(part);
        if (strncmp(line, "-- tables: ", 11) != 0)
            add_line(&part->definitions, line, length);
        part->in_comment = true;
    } else if (length >= 4 && strncmp(line, "    ", 4) == 0 && part->in_comment) {
        add_line(&part->definitions, line + 4, length - 4);
        part->is_defined = part->needs_end = true;
    } else if (length >= 4 && strncmp(line, "    ", 4) == 0) {
        add_line(&part->answer, line, length);
        part->is_computed = true;
    } else {
        status = end_definitions(part);
        add_line(&part->answer, line, length);
        if (length == 0 && status == VBS_OK)
            status = end_answer(part);
    }
    return status;
}

enum vbs_status notebook_add_template(struct notebook_story *story)
{
    struct notebook_part part = {.story = story};
    const char *at = story->template, *line;
    enum vbs_status status = VBS_OK;
    size_t length;

    while (status == VBS_OK && (line = notebook_next_line(&at, &length)) != NULL)
        status = take_line(&part, line, length);
    if (status == VBS_OK)
        status = end_definitions(&part);
    if (status == VBS_OK)
        status = end_answer(&part);
    vbs_text_clear(&part.definitions);
    vbs_text_clear(&part.answer);
    return status;
}
