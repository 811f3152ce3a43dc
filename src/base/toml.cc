/*
 * The only file in C++, because Debian has no library in C that reads TOML 1.0. toml++ makes a tree
 * of a text, and this file makes JSON values of the tree. No exception leaves it.
 */
#include "base/toml.h"

/* toml++ 3.3 asserts what some malformed texts break ("[="): these are refused, and neither abort
 * nor, without assertions, misbehave. */
struct broken_rule {
};
[[noreturn]] static inline void break_rule()
{
    throw broken_rule();
}
#undef NDEBUG
#define TOML_ASSERT(rule) ((rule) ? static_cast<void>(0) : break_rule())

#define TOML_HEADER_ONLY       1
#define TOML_EXCEPTIONS        0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES VBS_TOML_MAX_DEPTH
#include <toml++/toml.h>

extern "C" {
#include "base/fail.h"
#include "base/text.h"
}

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace
{

/* A text that is read: what calls it in messages, and how its conversion ended so far. */
struct reading {
    vbs_ctx *ctx;
    const char *source;
    vbs_status status;
};

/* Says why the text is refused, and gives null, which stands for no value. */
json_t *refuse(reading &r, size_t line, size_t column, std::string_view why)
{
    r.status =
        vbs_fail(r.ctx, VBS_FORMAT, "%s:%zu:%zu: %.*s", r.source, line, column,
                 static_cast<int>(std::min<size_t>(why.size(), VBS_DETAIL_SIZE)), why.data());
    return nullptr;
}

json_t *refuse(reading &r, const toml::node &node, const char *why)
{
    return refuse(r, node.source().begin.line, node.source().begin.column, why);
}

/* ---- before toml++ reads ---- */

/* Gives the place behind the string that begins with a quotation mark at text[i]. A string of one
 * line that is not closed ends with its line. */
size_t string_end(std::string_view text, size_t i)
{
    const char mark = text[i];
    const char marks[] = {mark, mark, mark};
    const std::string_view three(marks, 3);
    const bool many_lines = text.substr(i, 3) == three;

    for (i += many_lines ? 3 : 1; i < text.size(); i++) {
        if (mark == '"' && text[i] == '\\') {
            i++;
        } else if (many_lines && text.substr(i, 3) == three) {
            i += 3; /* up to two marks may stand before the closing three */
            for (int more = 0; more < 2 && i < text.size() && text[i] == mark; more++)
                i++;
            return i;
        } else if (!many_lines && (text[i] == mark || text[i] == '\n')) {
            return i + 1;
        }
    }
    return text.size();
}

/*
 * Refuses what toml++ cannot be given, outside of strings and comments: keys of many names with
 * dots, of each of which it makes a table inside a table that is freed recursively, so that a key
 * as long as the file would overflow the stack; and characters outside ASCII, which TOML does not
 * allow there, and some of which (U+00A1 to U+0499) version 3.3 takes for impossible.
 */
bool is_fit(reading &r, std::string_view text)
{
    const bool mark = text.substr(0, 3) == "\xef\xbb\xbf"; /* of the order of bytes */
    size_t line = 1, line_begin = 0, dots = 0, end;

    for (size_t i = mark ? 3 : 0; i < text.size(); i = end) {
        end = i + 1;
        if (text[i] == '"' || text[i] == '\'')
            end = std::min(string_end(text, i), text.size());
        else if (text[i] == '#')
            end = std::min(text.find('\n', i), text.size());
        else if (text[i] == '.')
            dots++;
        else if (std::strchr("\n=,[]{}", text[i])) /* finds the zero byte, too */
            dots = 0;
        if (dots >= VBS_TOML_MAX_DEPTH)
            return refuse(r, line, i - line_begin + 1, "a key has too many names with dots");
        if (static_cast<unsigned char>(text[i]) >= 0x80)
            return refuse(r, line, i - line_begin + 1,
                          "a character outside ASCII is not in quotation marks");
        for (size_t k = i; k < end; k++)
            if (text[k] == '\n') {
                line++;
                line_begin = k + 1;
            }
    }
    return true;
}

/* ---- from the tree to JSON ---- */

json_t *convert(reading &r, const toml::node &node);

/* Gives value, or null with the status of missing memory. */
json_t *made(reading &r, json_t *value)
{
    if (!value)
        r.status = vbs_no_memory(r.ctx);
    return value;
}

json_t *convert_text(reading &r, const toml::node &node, const std::string &text)
{
    if (text.find('\0') != std::string::npos)
        return refuse(r, node, "a text has a zero byte");
    return made(r, json_stringn(text.data(), text.size()));
}

json_t *convert_array(reading &r, const toml::array &array)
{
    json_t *all = made(r, json_array());

    for (const toml::node &item : array) {
        json_t *value = all ? convert(r, item) : nullptr;

        if (value && json_array_append_new(all, value) == 0)
            continue;
        if (value)
            r.status = vbs_no_memory(r.ctx);
        json_decref(all);
        return nullptr;
    }
    return all;
}

/* The tree has its members in the order of their names. */
json_t *convert_table(reading &r, const toml::table &table)
{
    std::vector<std::pair<const toml::key *, const toml::node *>> members;
    json_t *all;

    for (auto &&[key, node] : table)
        members.emplace_back(&key, &node);
    std::sort(members.begin(), members.end(), [](const auto &a, const auto &b) {
        return a.first->source().begin < b.first->source().begin;
    });
    all = made(r, json_object());
    for (const auto &[key, node] : members) {
        json_t *value = nullptr;

        if (all && key->str().find('\0') != std::string_view::npos)
            refuse(r, *node, "a key has a zero byte");
        else if (all)
            value = convert(r, *node);
        if (value && json_object_set_new(all, std::string(key->str()).c_str(), value) == 0)
            continue;
        if (value)
            r.status = vbs_no_memory(r.ctx);
        json_decref(all);
        return nullptr;
    }
    return all;
}

json_t *convert(reading &r, const toml::node &node)
{
    switch (node.type()) {
    case toml::node_type::table:
        return convert_table(r, *node.as_table());
    case toml::node_type::array:
        return convert_array(r, *node.as_array());
    case toml::node_type::string:
        return convert_text(r, node, node.as_string()->get());
    case toml::node_type::integer:
        return made(r, json_integer(node.as_integer()->get()));
    case toml::node_type::boolean:
        return made(r, json_boolean(node.as_boolean()->get()));
    case toml::node_type::floating_point:
        if (!std::isfinite(node.as_floating_point()->get()))
            return refuse(r, node, "a number is not finite");
        return made(r, json_real(node.as_floating_point()->get()));
    default:
        return refuse(r, node, "dates and times have no use here: write a text in quotes");
    }
}

/* Refuses a text with what toml++ says about it, less the name of its macro. */
json_t *refuse_syntax(reading &r, const toml::parse_error &error)
{
    std::string why(error.description());

    why.erase(std::min(why.find(" (TOML_"), why.size()));
    if (!why.empty() && why[0] >= 'A' && why[0] <= 'Z')
        why[0] = static_cast<char>(why[0] - 'A' + 'a');
    return refuse(r, error.source().begin.line, error.source().begin.column, why);
}

json_t *parse(reading &r, std::string_view text)
{
    if (!is_fit(r, text))
        return nullptr;

    const toml::parse_result result = toml::parse(text);

    if (result)
        return convert_table(r, result.table());
    return refuse_syntax(r, result.error());
}

} // namespace

extern "C" enum vbs_status vbs_toml_parse(struct vbs_ctx *ctx, const char *source, const char *text,
                                          size_t length, json_t **root)
{
    reading r = {ctx, source, VBS_OK};

    try {
        json_t *made_of_it = parse(r, std::string_view(text, length));

        if (made_of_it)
            *root = made_of_it;
    } catch (const std::bad_alloc &) {
        return vbs_no_memory(ctx);
    } catch (const broken_rule &) {
        return vbs_fail(ctx, VBS_FORMAT,
                        "%s: this is no TOML: a key or a value begins with a character that is "
                        "allowed at the begin of neither",
                        source);
    }
    return r.status;
}

extern "C" enum vbs_status vbs_toml_read(struct vbs_ctx *ctx, const char *path, json_t **root)
{
    enum vbs_status status;
    size_t length;
    char *text;

    VBS_TRY(vbs_read_file(ctx, path, VBS_TOML_MAX_BYTES, &text, &length));
    status = vbs_toml_parse(ctx, std::strcmp(path, "-") == 0 ? "standard input" : path, text,
                            length, root);
    std::free(text);
    return status;
}
