#!/bin/sh
# embed.sh SYMBOL [FILE...] - prints C that defines SYMBOL, a list of the files (base/embedded.h).
#
# The bytes stand as numbers, since a string literal may not be as long as a file (C17 5.2.4.1).
set -eu
LC_ALL=C
export LC_ALL

if [ $# -lt 1 ]; then
    echo "usage: $0 SYMBOL [FILE...]" >&2
    exit 2
fi
symbol=$1
shift

echo '/* Made by tools/embed.sh; edit the files it was made from instead. */'
echo '#include "base/embedded.h"'
echo
echo "extern const struct vbs_embedded $symbol[];"

number=0
for file; do
    echo
    echo "static const unsigned char text_$number[] = {"
    od -An -v -tu1 < "$file" | sed -e 's/[0-9][0-9]*/&,/g'
    echo '0};'
    number=$((number + 1))
done

echo
echo "const struct vbs_embedded $symbol[] = {"
number=0
for file; do
    name=$(basename "$file")
    text=text_$number
    echo "    {\"${name%.*}\", (const char *)$text, sizeof $text - 1},"
    number=$((number + 1))
done
echo '    {0}};'
