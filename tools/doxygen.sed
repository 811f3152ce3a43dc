# Marks the plain comments of a header for Doxygen (docs/Doxyfile): the first is that of the file,
# one at the beginning of a line belongs to what follows, one behind code to what precedes. Headings
# between groups of declarations ("/* ---- Copies ---- */") and what stands behind the name of an
# opaque struct belong to neither. A backslash in a comment is no command.
1s#^/\*$#/** @file#
/\/\* --/b
/^ *\(\/\*\|\*\) /s#\\\([a-z]\)#\\\\\1#g
s#^\( *\)/\*\( \|$\)#\1/**\2#
/^struct [a-z_]*;/b
s#\([;,)] *\)/\* #\1/**< #
