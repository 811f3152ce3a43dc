# What ./measure and ./longer share: the store, processes that compute beside ($BUSY of them), and budgets.

vbslab() {
    "$VBSLAB" --db "$temp/store.sqlite" --quiet "$@"
}

busy=
stop() {
    for process in $busy; do
        kill "$process" 2>/dev/null || true
    done
    rm -rf "$temp"
}
trap stop EXIT
while [ "$(echo "$busy" | wc -w)" -lt "$BUSY" ]; do
    (while :; do :; done) &
    busy="$busy $!"
done

least() { # profile: the least memory that fbs needs
    vbslab compare "$1" --planners dp-vbs --baselines fbs --memory 1KiB --request "$REQUEST" --csv \
        >"$temp/least.csv" 2>/dev/null || [ $? -eq 3 ] || return
    value "SELECT least_bytes FROM least WHERE planner = 'fbs'" "$temp/least.csv"
}

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
