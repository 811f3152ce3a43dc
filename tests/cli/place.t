#!/bin/sh
# The command place reads MiniMalloc's CSV, and writes the same with offsets. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"
COMMAND=place
PROBLEMS=$DATA/placement

# valid PROBLEM PLACED CAPACITY: runs the validator, whose output is in said.
valid()
{
    said=$(awk -v capacity="$3" -f "$ROOT/tests/reference/place/place_valid.awk" "$1" "$2")
}

# --- the hard problems, proven by the validator ---

for problem in A C D F H J; do
    run "$PROBLEMS/$problem.1048576.csv" --capacity 1MiB --time-limit 300
    [ $code -eq 0 ] && valid "$PROBLEMS/$problem.1048576.csv" out 1048576
    report $? "$problem fits in 1 MiB: $said"
done
sed '3s/[0-9]*$/7/' out >wrong.csv
! valid "$PROBLEMS/J.1048576.csv" wrong.csv 1048576 && sed 3d out >wrong.csv &&
    ! valid "$PROBLEMS/J.1048576.csv" wrong.csv 1048576 && ! valid "$PROBLEMS/J.1048576.csv" out 1000000
report $? "the validator sees what is wrong: $said"

# --- what is printed ---

cat >example.csv <<'END'
id,lower,upper,size
b1,0,3,4
b2,3,9,4
b3,0,9,4
b4,9,21,4
b5,0,21,4
END
run example.csv
[ $code -eq 0 ] && valid example.csv out 12 && [ "$said" = 12 ] &&
    [ "$(cat err)" = 'vbslab: place: 12 bytes high, the least possible, 0.00% above the load of 12 bytes' ]
report $? "the example of MiniMalloc: $(cat err)"
cp out first.out
run --quiet - <example.csv
[ $code -eq 0 ] && [ ! -s err ] && cmp -s out first.out
report $? "standard input, quietly, and the same again"
run example.csv --capacity 12
[ $code -eq 0 ] && valid example.csv out 12
report $? "a capacity of exactly the load"
cat >order.csv <<'END'
size,upper,id,lower
4,1000000000000,"z ""1""
",-5
3,2,a,1

4,2,z,-9
END
run order.csv
[ $code -eq 0 ] && [ "$(sed 's/,[0-9]*$/,N/' out)" = "$(sed '/^$/d;1s/$/,offset/;2n;3,$s/$/,N/' order.csv)" ]
report $? "rows and columns stay in their order, quotes where they are needed"
printf 'id,lower,upper,size\na,0,1,1\n' >one.csv
refuses "a load of one byte" 3 \
    'nothing fits in 0 bytes: the load is 1 byte, no placement is lower than 1; the best one found takes 1' \
    one.csv --capacity 0
refuses "a capacity of one byte" 3 'nothing fits in 1 byte: the load is 12 bytes, ' example.csv --capacity 1
refuses "less than the load, without a search" 3 'nothing fits in 986111 bytes: the load is 986112 bytes, ' \
    "$PROBLEMS/D.1048576.csv" --capacity 986111 --time-limit 10000
printf 'id,lower,upper,size,alignment,gaps,hint,offset\na,0,9,64,64,2-4,-1,\nb,2,4,64,,,-1,0\nc,0,9,8,8,,7,\n' >all.csv
does "gaps, alignment, a fixed offset" "id,lower,upper,size,alignment,gaps,hint,offset
a,0,9,64,64,2-4,-1,0
b,2,4,64,,,-1,0
c,0,9,8,8,,7,64" all.csv --capacity 72
printf 'id,lower,upper,size\n' >none.csv
does "no buffers" 'id,lower,upper,size,offset' none.csv
printf 'id,lower,upper,size\na\033[1m,0,1,5\nb,0,1,x\033[1m\n' >steer.csv
run steer.csv
[ $code -eq 1 ] && ! grep -q "$escape" out err
report $? "names do not steer the terminal"
if [ -e /dev/full ]; then
    "$VBSLAB" place example.csv >/dev/full 2>err
    code=$?
    : >out
    [ $code -eq 1 ] && one_error "cannot write 'standard output'"
    report $? "a full disk is noticed"
else
    skip "a full disk is noticed" "there is no /dev/full"
fi
[ ! -e db ]
report $? "no store is made or needed"

# --- what does not fit, and what is wrong ---

refuses "less than the load" 3 \
    'nothing fits in 11 bytes: the load is 12 bytes, no placement is lower than 12; the best one found takes 12' \
    example.csv --capacity 11
printf 'id,lower,upper,size,alignment\na,0,2,10,16\nb,0,2,10,16\n' >aligned.csv
refuses "more than the load, proven" 3 'no placement is lower than 26' aligned.csv --capacity 25
refuses "not found in time" 3 'no placement in 986112 bytes was found: the load is 986112 bytes' \
    "$PROBLEMS/D.1048576.csv" --capacity 986112 --time-limit 0.01
printf 'id,lower,upper,size,offset\na,0,2,10,0\nb,0,2,10,5\n' >fixed.csv
refuses "fixed in each other's way" 1 "fixed.csv: items 'a' and 'b' are fixed in each other's way" fixed.csv
refuses "no file" 1 "'not-there.csv'" not-there.csv
refuses "a profile" 1 "standard input:1: column 'layer' is not known" - <<END
$(write_example)
END
printf 'id,lower,upper,size,colour\n' >colour.csv
refuses "an unknown column" 1 "colour.csv:1: column 'colour' is not known" colour.csv
printf 'id,lower,upper,size\na,3,3,1\n' >empty.csv
refuses "no step" 1 'empty.csv:2: lower 3 is not below upper 3' empty.csv
refuses "no file named" 2 'needs one FILE.csv'
refuses "two files" 2 'needs one FILE.csv' example.csv none.csv
refuses "a capacity that is none" 2 "'much'" example.csv --capacity much
refuses "a time that is none" 2 '--time-limit' example.csv --time-limit 0
refuses "a seed that is none" 2 '--seed' example.csv --seed -1
finish
