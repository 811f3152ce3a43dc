#!/bin/sh
# Stores that cannot be used, and the reasons: read-only, of another program, of a newer version,
# damaged; and many processes that use one store. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

write_example >example.csv
chmod 755 .
"$VBSLAB" --db good.sqlite profiles import example.csv >/dev/null

# byte FILE OFFSET OCTAL-BYTES: overwrites bytes of a file.
overwrite()
{
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# unusable NAME PART FILE: checks that a store is refused with PART, and is not changed.
unusable()
{
    cp "$3" before
    refuses "$1 is not read" 1 "$2" --db "$3" profiles
    refuses "$1 gives no profile" 1 "$2" --db "$3" plan 1 --planner fbs --memory 7
    refuses "$1 is not written" 1 "$2" --db "$3" profiles import example.csv
    refuses "$1 is not measured into" 1 "$2" --db "$3" measure --backend analytic --batches 1 alexnet
    cmp -s before "$3"
    report $? "$1 stays as it is"
}

# --- files that are no stores ---

cp good.sqlite other.sqlite
overwrite other.sqlite 68 'ABCD'
version=$(($(ls "$ROOT"/db/migration-*.sql | wc -l) + 1))
unusable "a database of another program" \
    "is the database of another program (application id 0x41424344, version $version); nothing was changed" \
    other.sqlite
cp good.sqlite nobody.sqlite
overwrite nobody.sqlite 68 '\0\0\0\0'
unusable "a database of nobody" "is the database of another program" nobody.sqlite
cp good.sqlite newer.sqlite
overwrite newer.sqlite 60 '\0\0\0\143'
unusable "a store of a newer version" "is of version 99, but vbslab" newer.sqlite
awk 'BEGIN { srand(7); for (i = 0; i < 5000; i++) printf "%c", 33 + int(90 * rand()) }' >garbage.sqlite
unusable "garbage" "it is no SQLite database" garbage.sqlite
echo x >short.sqlite
unusable "a file of two bytes" "is no SQLite database" short.sqlite
size=$(wc -c <good.sqlite)
head -c $((size / 2)) good.sqlite >half.sqlite
unusable "half a store" "is damaged" half.sqlite
mkdir folder.sqlite
refuses "a folder is not read" 1 "'folder.sqlite': Is a directory" --db folder.sqlite profiles
refuses "a folder is not written" 1 "'folder.sqlite': Is a directory" \
    --db folder.sqlite profiles import example.csv
refuses "a device is not written" 1 "store '/dev/null'" --db /dev/null profiles import example.csv
refuses "a store that is not there" 1 \
    "cannot open store 'no/store.sqlite': No such file or directory; 'vbslab measure'" \
    --db no/store.sqlite profiles
refuses "a store in a file" 1 "Not a directory" --db example.csv/x profiles import example.csv
: >empty.sqlite
refuses "an empty file holds nothing" 1 "store 'empty.sqlite' is empty" --db empty.sqlite profiles
does "and becomes a store" 1 --db empty.sqlite profiles import example.csv

# --- a damaged row ---

# All pages after the first are zeros.
cp good.sqlite torn.sqlite
dd if=/dev/zero of=torn.sqlite bs=4096 seek=1 count=$((size / 4096 - 1)) conv=notrunc 2>/dev/null
refuses "a store with pages of zeros" 1 "torn.sqlite" --db torn.sqlite profiles show 1

# --- read-only ---

# unprivileged ARGUMENTS...: does as run, as a user without the rights of root.
unprivileged()
{
    if [ "$(id -u)" -ne 0 ]; then
        run "$@"
    else
        setpriv --reuid=65534 --regid=65534 --clear-groups "$VBSLAB" "$@" >out 2>err
        code=$?
    fi
}

mkdir readonly shared
cp good.sqlite readonly/store.sqlite
cp good.sqlite shared/store.sqlite
chmod 777 shared
chmod 444 readonly/store.sqlite shared/store.sqlite
chmod 555 readonly
unprivileged --version
if [ $code -eq 0 ]; then
    for folder in readonly shared; do
        unprivileged --db $folder/store.sqlite profiles show 1 --json
        [ $code -eq 0 ] && [ ! -s err ] && grep -q '"name": "L3"' out
        report $? "a read-only store in a $folder folder is read"
        unprivileged --db $folder/store.sqlite profiles import example.csv
        [ $code -eq 1 ] &&
            one_error "store '$folder/store.sqlite' cannot be written: Permission denied"
        report $? "and not written"
        unprivileged --db $folder/store.sqlite measure --backend analytic --batches 1 alexnet
        [ $code -eq 1 ] && one_error "cannot be written: Permission denied"
        report $? "nor measured into"
        [ "$(ls $folder)" = store.sqlite ] && cmp -s good.sqlite $folder/store.sqlite
        report $? "nothing is left beside it"
    done
    unprivileged --db readonly/new.sqlite profiles import example.csv
    [ $code -eq 1 ] && one_error "its folder, where SQLite keeps files of its own, says: Permission"
    report $? "no new store in a read-only folder"
    unprivileged --db readonly/deep/new.sqlite profiles import example.csv
    [ $code -eq 1 ] && one_error "'readonly/deep/new.sqlite': its folder does not exist"
    report $? "nor in a new folder there"
    unprivileged plan example.csv --planner fbs --memory 7 --json readonly/plan.json
    [ $code -eq 1 ] && one_error "cannot create 'readonly/plan.json': Permission denied"
    report $? "nor a schedule"
else
    skip "read-only stores" "no user here that permissions bind can run the program"
fi

# --- many at once ---

mkdir fresh
pids=
for i in 1 2 3 4 5 6 7 8; do
    "$VBSLAB" --db fresh/store.sqlite measure squeezenet-v1.0 --backend analytic --batches 1-4 \
        >out.$i 2>err.$i &
    pids="$pids $!"
done
failed=0
for pid in $pids; do
    wait "$pid" || failed=1
done
cat err.* >err
[ $failed -eq 0 ] && ! grep -qi locked err && ! grep -q resumed err
report $? "eight measurements at once into a store that was not there: none fails"
[ "$(cat out.* | sort -n | tr '\n' ' ')" = '1 2 3 4 5 6 7 8 ' ]
report $? "each has a profile of its own"
run --db fresh/store.sqlite profiles
[ $code -eq 0 ] && [ "$(grep -c ' complete$' out)" -eq 8 ]
report $? "all are complete"
for i in 2 3 4 5 6 7 8; do
    "$VBSLAB" --db fresh/store.sqlite profiles export $i $i.csv
    sed 's/^# date: .*//' $i.csv >$i.plain
done
for i in 3 4 5 6 7 8; do
    cmp -s 2.plain $i.plain || echo $i
done >out
[ ! -s out ]
report $? "and the same"
pids=
for i in 1 2 3 4 5 6 7 8; do
    if [ $((i % 2)) -eq 0 ]; then
        "$VBSLAB" --db fresh/store.sqlite profiles import 2.csv >out.$i 2>err.$i &
    else
        "$VBSLAB" --db fresh/store.sqlite --quiet compare squeezenet-v1.0 --memory 8MiB >out.$i 2>err.$i &
    fi
    pids="$pids $!"
done
failed=0
for pid in $pids; do
    wait "$pid" || failed=1
done
cat err.* >err
[ $failed -eq 0 ] && [ ! -s err ]
report $? "readers and writers at once: none fails"
[ "$(cat out.2 out.4 out.6 out.8 | sort -u | wc -l)" -eq 1 ]
report $? "the same content gets the same id"
finish
