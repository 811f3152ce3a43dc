#!/bin/sh
# style.sh - checks the sources with clang-format, cppcheck and the rules of CONTRIBUTING.md.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
sources=$(git ls-files 'src/*.[ch]' 'src/*.cc' 'include/*.h' 'tests/*.[ch]')

complain() {
    echo "$1" >&2
    bad=1
}

if command -v clang-format > /dev/null; then
    for file in $sources; do
        clang-format --dry-run -Werror "$file" > /dev/null 2>&1 || complain "$file: not as clang-format lays it out"
    done
else
    echo "clang-format is not installed: layout is not checked" >&2
fi

if command -v cppcheck > /dev/null; then
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
        --suppress=unusedStructMember -Iinclude -Isrc --error-exitcode=1 src || bad=1
else
    echo "cppcheck is not installed: no static analysis" >&2
fi

for file in $sources; do
    awk -v file="$file" '
        /[ \t]$/ { print file ":" NR ": white space at the end"; bad = 1 }
        /^[a-z].*[^;]$/ && !/^(typedef|struct|enum|union|static const|extern|#)/ { start = NR }
        /^}$/ && start { if (NR - start > 100) { print file ":" start ": a function of " NR - start " lines"; bad = 1 } start = 0 }
        END { exit bad }' "$file" >&2 || bad=1
done

# The library neither prints nor ends the program; only the command line does.
if git grep -nE '(^|[^a-z_])(printf|puts|exit|abort)\(' -- 'src/*.c' ':!src/cli' >&2; then
    complain "the library must not print or exit"
fi
tools/rooms.sh "${BUILD:-build}" || bad=1
[ $bad -eq 0 ] && echo "style: nothing to complain of"
exit $bad
