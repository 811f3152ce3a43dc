# Marks the plain comments of a header for Doxygen (docs/Doxyfile): the first is that of the file,
# one at the beginning of a line belongs to what follows, one behind code to what precedes.
1s|^/\*$|/** @file|
s|^\( *\)/\*\( \|$\)|\1/**\2|
s|\([;,)] *\)/\* |\1/**< |
