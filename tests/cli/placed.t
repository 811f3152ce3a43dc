#!/bin/sh
# Plans whose buffers take more than they count, because alignment leaves holes. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

# With both inputs inside, samples of 6 bytes of the first layer lie side by side for the second one.
# The first is made beside both inputs, whose addresses are multiples of 4: it is the last that fits,
# and the second sample has no place behind it. To move it would take longer than the layers.
cat >odd.csv <<'END_OF_CSV'
# backend: onednn
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,L1,conv,0,1,default,0.001,20,6,0,0,0
1,L1,conv,0,2,default,0.002,40,12,0,0,0
2,L2,conv,1,1,default,0.002,6,2,0,0,0
2,L2,conv,1,2,default,0.001,12,4,0,0,0
END_OF_CSV
odd='odd.csv --request 2 --io resident --planner dp-vbs+'

run plan $odd --memory 46
[ $code -eq 0 ] && grep -q 'the plan takes 48 bytes, 2 more than the budget' err
report $? "a plan says by how much its placement needs more"
run plan $odd --memory 48
[ $code -eq 0 ] && [ ! -s err ]
report $? "one that is placed within its budget says nothing"
refuses "a budget below the least" 3 \
    "; that plan takes 48 bytes once its buffers are placed; 26 bytes would do with io external" \
    plan $odd --memory 40
grep -v '^# backend' odd.csv >taught.csv
run plan taught${odd#odd} --memory 46
[ $code -eq 0 ] && [ ! -s err ]
report $? "nor does a plan of a profile that no machine executes"
run frontier $odd
[ $code -eq 0 ] && grep -q 'the plan of the least budget takes 48 bytes once its buffers are placed' err
report $? "a frontier says it of its first plan"
run frontier odd.csv --request 2 --planner dp-vbs+
[ $code -eq 0 ] && [ ! -s err ]
report $? "and nothing where that is placed"

finish
