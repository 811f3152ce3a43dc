# Marks the plain comments of a header for Doxygen (docs/Doxyfile): the first describes the file,
# one at the beginning of a line belongs to the next declaration, one behind code to the
# declaration before it. Headings between groups of declarations ("/* ---- Copies ---- */") belong
# to neither. A backslash in a comment is no command. Doxygen documents no struct that is only
# declared, so that an opaque one becomes an empty one.
1s#^/\*$#/** @file#
/\/\* --/b
/^ *\(\/\*\|\*\) /s#\\\([a-z]\)#\\\\\1#g
s#^\( *\)/\*\( \|$\)#\1/**\2#
s#^\(struct [a-z_]*\);#\1 {};#
s#\([;,)] *\)/\* #\1/**< #
