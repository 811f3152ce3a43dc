#!/bin/sh
# tools/rooms.sh, which `make style` calls, refuses breaches of the order of rooms, sub-rooms and
# files: each breach is planted into a small tree of sources that is in order. CC: the compiler.
. "$(dirname "$0")/lib.sh"

CC=${CC:-cc}
mkdir -p tree/tools tree/include/vbslab
cp "$ROOT/tools/rooms.sh" tree/tools
echo 'ROOMS ?= low high' >tree/Makefile
git init -q tree 2>err || { echo "Bail out! no git"; exit 1; }

# write_source FILE LINES...: writes a source or header of the tree, below src/.
write_source()
{
    file=tree/src/$1
    shift
    mkdir -p "${file%/*}"
    printf '%s\n' "$@" >"$file"
}

# Room low has the sub-rooms a and b, of which b calls a; room high calls low.
plant()
{
    rm -rf tree/src tree/build
    write_source low/a/a.h 'int a_one(void);' 'int a_two(void);'
    write_source low/a/one.c '#include "low/a/a.h"' 'int a_one(void) { return 1; }'
    write_source low/a/two.c '#include "low/a/a.h"' 'int a_two(void) { return a_one(); }'
    write_source low/b/b.h '#pragma once' 'struct b { int n; };' 'int b_one(void);' 'int b_two(void);'
    write_source low/b/one.c '#include "low/b/b.h"' 'int b_one(void) { return 1; }'
    write_source low/b/two.c '#include "low/a/a.h"' '#include "low/b/b.h"' 'int b_two(void) { return a_two(); }'
    write_source low/low.h 'int low(void);'
    write_source low/low.c '#include "low/b/b.h"' '#include "low/low.h"' 'int low(void) { return b_two(); }'
    write_source high/high.c '#include "low/low.h"' 'int high(void);' 'int high(void) { return low(); }'
}

# rooms: compiles the tree and checks it; the output is in err.
rooms()
{
    for file in tree/src/*/*.c tree/src/*/*/*.c; do
        object=tree/build/${file#tree/}
        mkdir -p "${object%/*}"
        $CC -Itree/src -c -o "${object%.c}.o" "$file" || return
    done 2>err
    tree/tools/rooms.sh build >out 2>err
    code=$?
}

# refused TEXT: checks that the tree is refused with one line, which is TEXT.
refused()
{
    [ $code -eq 1 ] && [ "$(cat err)" = "$1" ]
}

plant
rooms
[ $code -eq 0 ] && [ ! -s err ]
report $? "a tree in order passes"

write_source low/a/one.c '#include "low/a/a.h"' 'int high(void);' 'int a_one(void) { return high(); }'
rooms
[ $code -eq 1 ] && grep -q '^circle of files:.* high/high' err && grep -q '^circle of rooms: .*low' err
report $? "a call of a room above is a circle, also of a function that no header declares"

plant
write_source low/a/one.c '#include "low/a/a.h"' '#include "low/b/b.h"' 'int a_one(void) { return b_one(); }'
rooms
refused "circle of sub-rooms: low/a low/b (low/a/one uses low/b/b, low/b/two uses low/a/a)" ||
    refused "circle of sub-rooms: low/b low/a (low/b/two uses low/a/a, low/a/one uses low/b/b)"
report $? "so are calls between two sub-rooms through different files, of which none is in a circle"

plant
write_source low/a/a.h '#include "low/b/b.h"' 'int a_one(void);' 'int a_two(void);'
rooms
[ $code -eq 1 ] && grep -q '^circle of sub-rooms: low/[ab] low/[ab] (' err && [ "$(wc -l <err)" -eq 1 ]
report $? "and a header that includes one of a sub-room which calls its own"

plant
write_source low/a/one.c '#include "low/a/a.h"' 'int a_one(void) { return a_two(); }'
rooms
refused "circle of files: low/a/one low/a/two" || refused "circle of files: low/a/two low/a/one"
report $? "two files of one folder may not call each other either"

plant
write_source low/b/one.c '#include "high/high.h"' '#include "low/b/b.h"' 'int b_one(void) { return 1; }'
write_source high/high.h 'int high(void);'
rooms
[ $code -eq 1 ] && grep -qx 'src/low/b/one.c:1: the room low includes high, which stands behind it' err
report $? "a room that includes one behind it is named with file and line"

plant
write_source low/b/more.h 'int b_more;'
write_source high/high.c '#include "low/b/more.h"' '#include "low/low.h"' 'int high(void);' 'int high(void) { return low(); }'
rooms
refused "src/high/high.c:1: includes low/b/more.h, not low/b/b.h"
report $? "so is an include past the internal header of a sub-room"

plant
write_source high/high.c '#include "low/low.h"' 'struct b { int m; };' 'int high(void);' 'int high(void) { return low(); }'
rooms
refused "two types with the tag b: src/high/high.c and src/low/b/b.h" ||
    refused "two types with the tag b: src/low/b/b.h and src/high/high.c"
report $? "and two types with one tag"

plant
tree/tools/rooms.sh nowhere >out 2>err
code=$?
refused "rooms.sh: no objects in 'nowhere': run make first"
report $? "without a build nothing is said to be in order"

finish
