#!/bin/sh
# rooms.sh [BUILD] - checks the order of the folders of src/ (ARCHITECTURE.md). BUILD is the folder of
# a finished build (default build), from whose objects the calls are read. Each breach is one line
# on standard error; the exit code is 1 where there is a breach.
#
#   1  A room includes only headers of rooms that stand before it in ROOMS of the Makefile.
#   2  Of a sub-room, files outside it include only the internal header: src/ROOM/SUB/SUB.h.
#   3  No two structs, unions or enums have one tag.
#   4  No files call each other in a circle.
#   5  No sub-rooms call or include each other in a circle, whichever of their files do. The files in
#      a room's own folder count as one more sub-room.
#   6  No rooms call each other in a circle, also where a function is declared without its header.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

# breaches FILE: prints the breaches in FILE, one a line.
breaches() {
    [ ! -s "$1" ] && return
    cat "$1" >&2
    bad=1
}

sources=$(git ls-files --cached --others --exclude-standard 'src/*.[ch]' 'src/*.cc' 'include/*.h' |
    while read -r file; do [ ! -f "$file" ] || echo "$file"; done)
order=$(sed -n 's/^ROOMS *?*= *//p' Makefile)

# Prints lines "FILE:LINE INCLUDED" for headers in quotation marks.
# shellcheck disable=SC2086
awk 'match($0, /^#include "[^"]*"/) { print FILENAME ":" FNR, substr($0, 11, RLENGTH - 11) }' $sources \
    > "$work/includes"

# 1
awk -v order="$order" '
    BEGIN { n = split(order, rooms, " "); for (i = 1; i <= n; i++) rank[rooms[i]] = i }
    {
        split($1, path, "/")
        to = $2
        sub(/^vbslab\//, "", to)
        sub(/[\/.].*/, "", to)
        if (path[1] == "src" && rank[to] > rank[path[2]])
            print $1 ": the room " path[2] " includes " to ", which stands behind it"
    }' "$work/includes" > "$work/behind"
breaches "$work/behind"

# 2: also for a folder inside a sub-room.
awk '
    $2 ~ /^[a-z]+(\/[a-z]+)+\/[a-z_0-9]+\.h$/ {
        own = folder = $1
        sub(/^src\//, "", own)
        sub(/\/[^\/]*$/, "", own)
        folder = name = $2
        sub(/\/[^\/]*$/, "", folder)
        name = folder
        sub(/.*\//, "", name)
        if (folder != own && $2 != folder "/" name ".h")
            print $1 ": includes " $2 ", not " folder "/" name ".h"
    }' "$work/includes" > "$work/doors"
breaches "$work/doors"

# 3
# shellcheck disable=SC2086
awk '
    match($0, /^ *(typedef )?(struct|union|enum) [A-Za-z_][A-Za-z_0-9]* *\{/) {
        words = split(substr($0, RSTART, RLENGTH - 1), word, " ")
        tag = word[words]
        if (tag in file)
            print "two types with the tag " tag ": " file[tag] " and " FILENAME
        file[tag] = FILENAME
    }' $sources > "$work/tags"
breaches "$work/tags"

# Lines "CALLER CALLEE" of files without src/ and .c, by the symbols that one defines and another
# uses. It reads only objects of existing sources: a build folder may hold older ones.
for file in $sources; do
    case $file in
    *.c | *.cc) [ ! -f "$build/${file%.c*}.o" ] || echo "$build/${file%.c*}.o" ;;
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
    }' | sort -u > "$work/calls"
sed -n 's|^src/\(.*\)\.[ch]c*:[0-9]* \([a-z].*/.*\)\.h$|\1 \2|p' "$work/includes" | grep -v ' vbslab/' |
    cat - "$work/calls" | sort -u > "$work/uses"

# circles LEVEL FILE DEPTH: prints circles among the lines "FROM TO" of FILE, of whose names the first DEPTH
# folders count (0: the whole name). Each is a line, with an example of each of its arrows.
circles() {
    awk -v depth="$3" '
        function node(file, path, n, i, name) {
            if (!depth)
                return file
            n = split(file, path, "/") - 1
            name = path[1]
            for (i = 2; i <= n && i <= depth; i++)
                name = name "/" path[i]
            return name
        }
        { from = node($1); to = node($2) }
        from != to && !((from, to) in seen) { seen[from, to] = 1; print from, to, $1, $2 }' "$2" \
        > "$work/arrows"
    cut -d' ' -f1,2 "$work/arrows" | tsort 2> "$work/said" > /dev/null && return
    sed 's/^tsort: //' "$work/said" | awk -v level="$1" '
        function tell(i, text) {
            if (!n)
                return
            text = "circle of " level ":"
            for (i = 1; i <= n; i++)
                text = text " " name[i]
            for (i = 1; i <= n; i++) {
                split(example[name[i], name[i % n + 1]], file, " ")
                if (file[1] != name[i])
                    text = text (i == 1 ? " (" : ", ") file[1] " uses " file[2] (i == n ? ")" : "")
            }
            print text
        }
        FILENAME != "-" { example[$1, $2] = $3 " " $4; next }
        /input contains a loop/ { tell(); n = 0; next }
        { name[++n] = $1 }
        END { tell() }' "$work/arrows" - > "$work/circles"
    breaches "$work/circles"
}

circles files "$work/calls" 0
circles sub-rooms "$work/uses" 9
circles rooms "$work/uses" 1
exit $bad
