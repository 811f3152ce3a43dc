#!/bin/sh
# The library for other programs: the shared library has exactly the functions of the public
# headers, under one version, and each header is complete in C and in C++. VBSLAB: the program;
# BUILD: the folder of the library; CC: the compiler.
. "$(dirname "$0")/lib.sh"

build=${BUILD:-$ROOT/build}
CC=${CC:-cc}
version=$(sed -n 's/^VERSION *= *//p' "$ROOT/Makefile")
node=VBSLAB_${version%.*}

# declared: prints the names of the functions that C code on standard input declares. It leaves out
# text in braces and typedefs.
declared()
{
    awk '{ text = text " " $0 }
        END {
            n = split(text, c, "")
            for (i = 1; i <= n; i++) {
                if (c[i] == "}") depth--
                else if (c[i] == "{") depth++
                else if (depth == 0 && c[i] == ";") print line
                if (depth == 0 && c[i] == ";") line = ""
                else if (depth == 0) line = line c[i]
            }
        }' | grep -v typedef | sed -n 's/^[^(]*[ *]\([a-z_0-9][a-z_0-9]*\) *(.*/\1/p' | sort -u
}

echo 'int f(int (*g)(void)); struct s { int (*h)(int); }; typedef int k(int); enum e *l (void); int m;' |
    declared >out
[ "$(tr '\n' ' ' <out)" = "f l " ]
report $? "declared functions are told from pointers, types and variables"

# The linkage of C++ has braces of its own, which the preprocessor leaves out in C.
echo '#include "vbslab/vbslab.h"' | $CC -std=c11 -E -P -I"$ROOT/include" -x c - >all.i 2>err &&
    declared <all.i | grep '^vbs_' >declared
nm -D --defined-only --with-symbol-versions "$build/libvbslab.so" | awk '{ print $3 }' >exported
sed 's/@.*//' exported | grep -v "^$node\$" | sort -u >names
[ "$(wc -l <declared)" -gt 100 ] && diff declared names >out
report $? "the shared library exports the functions of the headers and no others"
grep -v "@@$node\$" exported | grep -v "^$node\(@\|\$\)" >out
[ ! -s out ]
report $? "all of them have the version $node"

# --- headers ---

for header in "$ROOT"/include/vbslab/*.h; do
    name=${header##*/}
    echo "#include \"vbslab/$name\"" >alone.c
    $CC -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$ROOT/include" alone.c >>out 2>&1 ||
        echo "$name does not compile alone"
    $CC -std=c11 -M -I"$ROOT/include" "$ROOT/include/vbslab/vbslab.h" | grep -q "/$name" ||
        echo "vbslab.h lacks $name"
done >>out
[ ! -s out ]
report $? "every header compiles alone in C11, and vbslab.h includes it"
if command -v g++ >/dev/null; then
    for header in "$ROOT"/include/vbslab/*.h; do
        echo "#include \"vbslab/${header##*/}\"" >alone.cc
        g++ -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$ROOT/include" alone.cc || echo "$header"
    done >out 2>&1
    [ ! -s out ]
    report $? "and in C++11"
    printf '#include "vbslab/vbslab.h"\nint main() { return vbs_version()[0] == 0; }\n' >use.cc
    g++ -I"$ROOT/include" -c -o use.o use.cc >out 2>&1 && nm -u use.o | grep -qx ' *U vbs_version'
    report $? "where its functions keep the names of C"
else
    skip "and in C++11" "there is no g++"
    skip "where its functions keep the names of C" "there is no g++"
fi

# A type after a blank line or code would have no text in the reference, or the text of another one.
awk 'FNR == 1 { before = "" }
    /^(struct|enum|union) [a-z_]*( \{.*|;)$/ && before !~ /\*\/$/ { print FILENAME ":" FNR ": " $2 " has no comment" }
    { before = $0 }' "$ROOT"/include/vbslab/*.h >out
[ ! -s out ]
report $? "every type of the headers has a comment of its own"

# --- versions ---

cat >macros.c <<'END'
#include "vbslab/status.h"
NUMBERS VBS_VERSION_MAJOR VBS_VERSION_MINOR VBS_VERSION_PATCH
TEXT VBS_VERSION_STRING
END
$CC -E -P -I"$ROOT/include" macros.c 2>err | grep -E '^(NUMBERS|TEXT)' >out
[ "$(sed -n 's/^NUMBERS //p' out | tr ' ' .)" = "$version" ] && grep -qx "TEXT \"$version\"" out
report $? "the macros of the headers have the version of the Makefile"
run --version
name=$(sed -n '1s/^vbslab //p' out)
[ $code -eq 0 ] && [ "${name%%-*}" = "$version" ] && [ "$(wc -l <out)" -eq 1 ]
report $? "and so has the program"
grep -qx "Version: $version" "$build/vbslab.pc" && [ "$(objdump -p "$build/libvbslab.so" |
    awk '$1 == "SONAME" { print $2 }')" = "libvbslab.so.${version%.*}" ]
report $? "and so have pkg-config's file and the name of the shared library"

# --- builds ---

# The program and the profiles that it measures have the name of the build, "VERSION-COMMIT" of one
# from a checkout.
run --db "$dir/build.sqlite" --quiet measure alexnet --backend analytic --batches 1
run --db "$dir/build.sqlite" profiles export 1 profile.csv
grep -qx "# vbslab: $name" profile.csv
report $? "a profile names the build that measured it"
make -s -C "$ROOT" --no-print-directory BUILD="$dir/named" COMMIT=abc12 "$dir/named/generated/build.c" >out 2>err &&
    grep -qF "\"$version-abc12\"" named/generated/build.c
report $? "the build gets the commit from make"
make -s -C "$ROOT" --no-print-directory BUILD="$dir/named" COMMIT= "$dir/named/generated/build.c" >out 2>err &&
    grep -qF "\"$version\"" named/generated/build.c
report $? "and without one has the name of the version"

finish
