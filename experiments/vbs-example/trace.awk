# The trace of a replay as a table.
BEGIN {
    print "| step | layer | samples | from | to | held | + output | + scratch | = memory | after |"
    print "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
}
{
    print "| " col("step") " | " col("name") " | " col("batch") " | " col("start_us") " | " \
        col("end_us") " | " col("live_bytes") " | " col("added_bytes") " | " col("ws_bytes") \
        " | " col("memory_bytes") " | " col("after_bytes") " |"
}
END { if (csv_failed) exit 1 }
