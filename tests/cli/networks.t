#!/bin/sh
# The trained networks of db/networks, dense and with coded weights: each gets as many of a sample of
# test images right as the tables of db/networks have it. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

networks=$ROOT/db/networks
sample=$DATA/fashion-mnist
gzip -dc "$sample/images.npy.gz" >images.npy
n_images=$(wc -l <"$sample/labels")

# right FILE: how many of the images have their largest output at their label. FILE: an .npy file.
right()
{
    header=$(($(od -An -v -tu2 -j8 -N2 "$1") + 10))
    od -An -v -tf4 -j$header "$1" | tr -s ' ' '\n' | awk -v labels="$sample/labels" '
        BEGIN { while ((getline label < labels) > 0) want[n++] = label }
        NF {
            class = k++ % 10
            if (class == 0 || $1 > most) { most = $1; best = class }
            if (class == 9)
                right += best == want[int((k - 1) / 10)]
        }
        END { if (k == 10 * n) print right }'
}

sed '/^#/d; /^file,/d' "$networks"/*.csv >rows
n_files=0
while IFS=, read -r file network kind bytes all want; do
    n_files=$((n_files + 1))
    "$VBSLAB" --db "$n_files.sqlite" --quiet measure "$networks/$file" --batches 1 --time-limit 0.1 \
        --no-copies --threads 1 >out 2>err </dev/null
    run --db "$n_files.sqlite" --quiet run "$networks/$file" --memory 1MiB --request "$n_images" --runs 1 \
        --warmup 0 --input images.npy --output outputs.npy </dev/null
    [ $code -eq 0 ] && [ "$(right outputs.npy)" = "$want" ]
    report $? "$file gets $want of $n_images images right"
done <rows
[ "$n_files" -gt 0 ] && [ "$(ls "$networks" | grep -c '\.vbz$\|\.onnx$')" -eq "$n_files" ]
report $? "every network of db/networks is recorded"

finish
