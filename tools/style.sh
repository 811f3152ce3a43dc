#!/bin/sh
# style.sh - checks the sources with clang-format, cppcheck and the rules of CONTRIBUTING.md.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
jobs=$(nproc)
sources=$(git ls-files 'src/*.[ch]' 'src/*.cc' 'include/*.h' 'tests/*.[ch]')

complain() {
    echo "$1" >&2
    bad=1
}

if command -v clang-format > /dev/null; then
    # A process for each core takes 20 files at a time.
    log=$(mktemp) || exit 1
    # shellcheck disable=SC2086
    if ! printf '%s\n' $sources | xargs -P "$jobs" -n 20 clang-format --dry-run -Werror > "$log" 2>&1; then
        sed -n 's/: error: code should be clang-formatted.*/: not as clang-format lays it out/p' "$log" >&2
        bad=1
    fi
    rm -f "$log"
else
    echo "clang-format is not installed: layout is not checked" >&2
fi

if command -v cppcheck > /dev/null; then
    cppcheck --quiet -j "$jobs" --std=c11 --enable=warning,performance,portability --inline-suppr \
        --suppress=unusedStructMember -Iinclude -Isrc --error-exitcode=1 src || bad=1
else
    echo "cppcheck is not installed: no static analysis" >&2
fi

# shellcheck disable=SC2086
awk '
    FNR == 1 { start = head = 0 }
    /[ \t]$/ { print FILENAME ":" FNR ": white space at the end"; bad = 1 }
    /^[a-z].*[^;]$/ && !/^(typedef|struct|enum|union|static const|extern|#)/ { head = FNR }
    /;$/ { head = 0 }
    /^{$/ { start = head; head = 0 }
    /^}$/ && start { if (FNR - start > 100) { print FILENAME ":" start ": a function of " FNR - start " lines"; bad = 1 } start = 0 }
    END { exit bad }' $sources >&2 || bad=1

# The library neither prints nor ends the program, also not by an assertion; only the command line
# does.
if git grep -nE '(^|[^a-z_])(printf|puts|exit|abort|assert)\(' -- 'src/*.c' ':!src/cli' >&2; then
    complain "the library must not print or exit"
fi
tools/rooms.sh "${BUILD:-build}" || bad=1
[ $bad -eq 0 ] && echo "style: nothing to complain of"
exit $bad
