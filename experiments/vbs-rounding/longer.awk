# Adds how much longer a plan takes than that of dp-vbs to the byte, whose rows come first.
BEGIN {
    FS = OFS = ","
    print "network,step,memory_bytes,per_sample_us,longer_percent"
}
$2 == "exact" { exact[$1, $3] = $4 }
{
    print $0, ($4 != "" && exact[$1, $3] != "" ? \
        sprintf("%.6g", 100 * ($4 / exact[$1, $3] - 1)) : "")
}
