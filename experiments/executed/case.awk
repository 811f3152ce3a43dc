# A line of executed.csv from a run's JSON.
/": \{$/ {
    section = $0
    gsub(/[" :{]/, "", section)
}
/^  \},?$/ { section = "" }
/": [^{\[]/ {
    key = $1
    gsub(/[":]/, "", key)
    value = $2
    gsub(/[",]/, "", value)
    is[section (section == "" ? "" : ".") key] = value
}
END {
    printf "%s,%s,%s,%d,%d", network, is["planner"], is["weights"], is["request"], \
        is["memory_bytes"]
    printf ",%.1f,%.1f,%.1f,%.1f,%.1f,%d", is["predicted.time_us"], is["measured.time_us"], \
        is["measured.low_us"], is["measured.high_us"], is["measured.fastest_us"], \
        is["measured.n_runs"]
    printf ",%.1f,%.1f,%.1f,%.1f", is["predicted.copy_us"], is["measured.copy_us"], \
        is["measured.waited_us"], is["measured.io_us"]
    printf ",%d,%d,%d,%d,%d,%d,%d\n", is["memory.planned_bytes"], is["memory.load_bytes"], \
        is["memory.placed_bytes"], is["memory.high_water_bytes"], is["memory.n_moves"], \
        is["memory.moved_bytes"], is["memory.n_replans"]
}
