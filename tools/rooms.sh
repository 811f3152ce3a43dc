#!/bin/sh
# rooms.sh [BUILD] - the rules of the house (ARCHITECTURE.md): rooms include only rooms that stand before them in its table, a
# sub-room has one internal header for all others, no circle of calls between files or rooms, no two
# types with one tag. The calls are read from the objects of a finished build. Exit code 1 and one
# line for each breach.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

complain() {
    echo "$1" >&2
    bad=1
}

sources=$(git ls-files --cached --others --exclude-standard 'src/*.[ch]' 'include/*.h')
order="base model profile backend store schedule place paper plan replay exec report simple cli"

above=$order
for room in $order; do
    above=${above#"$room"}
    above=${above# }
    for other in $above; do
        git grep --untracked -nE "#include \"($other/|vbslab/$other\.h)" -- "src/$room" >&2 &&
            complain "src/$room includes the room $other, which stands behind it"
    done
done

# The internal header of the sub-room src/ROOM/SUB is ROOM/SUB/SUB.h; of one inside it likewise.
for file in $sources; do
    awk -v file="$file" '
        BEGIN { own = file; sub(/^src\//, "", own); sub(/\/[^\/]*$/, "", own) }
        match($0, /^#include "[a-z]+(\/[a-z]+)+\/[a-z_0-9]+\.h"/) {
            to = substr($0, RSTART + 10, RLENGTH - 11)
            folder = to
            sub(/\/[^\/]*$/, "", folder)
            name = folder
            sub(/.*\//, "", name)
            if (folder != own && to != folder "/" name ".h")
                print file ":" NR ": includes " to ", not " folder "/" name ".h"
        }' "$file"
done > "$work/doors"
[ ! -s "$work/doors" ] || { cat "$work/doors" >&2; bad=1; }

for file in $sources; do
    sed -n "s#^ *\(typedef \)\{0,1\}\(struct\|union\|enum\) \([A-Za-z_][A-Za-z_0-9]*\) *{.*#\3 $file#p" "$file"
done | sort | awk '$1 == tag { print "two types with the tag " tag ": " file " and " $2 } { tag = $1; file = $2 }' \
    > "$work/tags"
[ ! -s "$work/tags" ] || { cat "$work/tags" >&2; bad=1; }

# Lines "caller callee" of files, by the symbols that one defines and another uses. Only objects of
# sources that are there: a build folder may hold older ones.
for file in $sources; do
    case $file in
    *.c) [ ! -f "$build/${file%.c}.o" ] || echo "$build/${file%.c}.o" ;;
    esac
done > "$work/objects"
[ -s "$work/objects" ] || { echo "rooms.sh: no objects in '$build': run make first" >&2; exit 1; }
xargs nm -A -g < "$work/objects" | sed "s|^$build/src/||; s|\.o:| |" | awk '
    NF == 3 && $2 == "U" { used[$1, $3] = 1; next }
    NF == 4 { owner[$4] = $1 }
    END {
        for (use in used) {
            split(use, part, SUBSEP)
            to = owner[part[2]]
            if (to != "" && to != part[1])
                print part[1], to
        }
    }' | sort -u > "$work/files"
sed 's|/[^/ ]* | |; s|/[^/]*$||' "$work/files" | awk '$1 != $2' | sort -u > "$work/rooms"
for level in files rooms; do
    tsort "$work/$level" 2> "$work/said" > /dev/null || {
        sed 's/^tsort: //' "$work/said" | awk -v level="$level" '
            /input contains a loop/ { if (circle != "") print circle; circle = "circle of calls between " level ":"; next }
            { circle = circle " " $0 }
            END { print circle }' >&2
        bad=1
    }
done
exit $bad
