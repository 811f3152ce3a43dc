#!/bin/sh
# lesson.sh text LESSON.md        - prints a lesson of docs/course for terminals of 80 columns
# lesson.sh page LESSON.md FRAME  - prints it as one page of HTML, with its pictures inside; FRAME has
#                                   the lines {{title}} and {{lesson}}
set -eu
LC_ALL=C.UTF-8
export LC_ALL

if [ $# -lt 2 ] || { [ "$1" = page ] && [ $# -ne 3 ]; }; then
    echo "usage: $0 text LESSON.md | page LESSON.md FRAME" >&2
    exit 2
fi
file=$2
command -v lowdown >/dev/null || {
    echo "$0: there is no lowdown; 'make deps' installs it" >&2
    exit 1
}

# Text: lowdown leaves four columns beside paragraphs and draws a bar beside commands. Headings, which
# begin in the first column, get a line below them.
print_text()
{
    sed 's/^!\[\(.*\)\](.*)$/(A picture, which --html shows: \1)/' "$file" |
        lowdown -tterm --term-no-ansi --term-nolinks --out-no-smarty --parse-no-intraemph \
            --term-columns=82 --term-width=82 |
        awk '
            { gsub(/·/, "*"); sub(/ +$/, "") }
            /^[^ ]/ { sub(/^#+ /, ""); line = $0; gsub(/./, n++ ? "-" : "=", line); print $0 "\n" line; next }
            { sub(/^    /, ""); sub(/^  \| ?/, "  "); sub(/ +$/, ""); print }'
}

print_lesson()
{
    lowdown -thtml --out-no-smarty --parse-no-intraemph --html-no-head-ids "$file" |
        awk -v folder="$(dirname "$file")" '
            match($0, /<img src="[^"]*"/) {
                name = substr($0, RSTART + 10, RLENGTH - 11)
                encode = "base64 -w0 " folder "/" name
                if ((encode | getline data) < 1) exit 1
                close(encode)
                type = name ~ /\.svg$/ ? "svg+xml" : "png"
                $0 = substr($0, 1, RSTART + 9) "data:image/" type ";base64," data substr($0, RSTART + RLENGTH - 1)
            }
            /^<h2>/ && folds { print "</details>"; folds = 0 }
            /^<h2>Solution/ { folds = 1; sub(/h2>/, "summary>"); sub(/<\/h2>/, "</summary>"); $0 = "<details>\n" $0 }
            /^<table>/ { $0 = "<div class=\"wide\">\n" $0 }
            /^<\/table>/ { $0 = $0 "\n</div>" }
            { print }
            END { if (folds) print "</details>" }'
}

print_page()
{
    title=$(sed -n '1s/^# *//p' "$file")
    while IFS= read -r line; do
        case $line in
        *'{{title}}'*) printf '%s\n' "${line%%'{{title}}'*}$title${line#*'{{title}}'}" ;;
        '{{lesson}}') print_lesson ;;
        *) printf '%s\n' "$line" ;;
        esac
    done < "$1"
}

case $1 in
text) print_text ;;
page) print_page "$3" ;;
esac
