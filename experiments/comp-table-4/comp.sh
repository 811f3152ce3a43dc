# What the experiments about COMP share; sourced after common.sh.

# Bytes of the budget that is so many times COMP's compressed AlexNet of 6.81 MiB, rounded down.
budget() { # times the model
    awk -v times="$1" 'BEGIN { printf "%d\n", 6.81 * times * 1048576 }'
}

# The frontiers of dp-monotone for requests of 1 to so many images.
frontiers() { # profile, images
    echo "request,memory_bytes,time_us"
    request=0
    while [ $request -lt "$2" ]; do
        request=$((request + 1))
        "$VBSLAB" frontier "$1" --planner dp-monotone --request $request --csv "$temp/frontier.csv"
        columns $request, memory_bytes,time_us "$temp/frontier.csv"
    done
}

# Replays $temp/plan.json into $temp/trace.csv. That it breaks its budget is a result too.
replay() { # profile
    code=0
    "$VBSLAB" replay "$1" "$temp/plan.json" --trace "$temp/trace.csv" >/dev/null \
        2>"$temp/replay.log" || code=$?
    [ $code -eq 0 ] || [ $code -eq 3 ] || {
        cat "$temp/replay.log" >&2
        fail "cannot replay a schedule"
    }
}

plan() { # profile, planner, images, memory
    "$VBSLAB" plan "$1" --planner "$2" --request "$3" --memory "$4" --json "$temp/plan.json" \
        >/dev/null
    replay "$1"
}
