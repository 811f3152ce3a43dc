#!/bin/sh
# Pages of `vbslab report`, without a browser: what is refused, and the data in the page. Plans are
# taken out of it, and replayed. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"
COMMAND=report

write_example >example.csv

# --- what is refused ---

refuses "no profile" 2 "needs at least one PROFILE" -o page.html
refuses "no file" 2 "needs -o FILE" example.csv
refuses "a file of another kind" 2 "ends in .html" example.csv -o page.pdf
refuses "a folder that is not there" 1 "no folder" example.csv -o none/page.html
refuses "a judge of two profiles" 2 "--judge judges one PROFILE" example.csv example.csv --judge example.csv -o page.html
refuses "a profile of an empty store" 1 "" googlenet -o page.html
: >nothing.csv
refuses "a file that is no profile" 1 "nothing.csv" nothing.csv -o page.html
refuses "an unknown planner" 2 "dp-vbs" example.csv --planners dpvbs -o page.html
[ ! -e page.html ]
report $? "no page is left behind"
"$VBSLAB" report example.csv -o - >/dev/full 2>err
[ $? -eq 1 ] && grep -q "cannot write" err
report $? "a full disk is an error"

# --- the data ---

# data PAGE: prints what the perl program on standard input prints with the JSON of the page in $page.
cat >page.pm <<'END'
use strict; use warnings; use JSON::PP;
our $page;
{
    local $/;
    open my $file, '<:raw', $ENV{PAGE} or die;
    my $text = <$file>;
    my ($json) = $text =~ m{id="data">\n(.*?)</script>}s or die "no data\n";
    $page = JSON::PP->new->utf8->decode($json);
}
sub columns { my ($names, $row) = @_; my %made; @made{@$names} = @$row; \%made }
sub unpack_steps
{
    my ($profile) = @_;
    my (@list, @packed);
    @packed = @{$profile->{steps}};
    while (@packed) {
        my $item = shift @packed;
        if ($item >= 0) { push @list, $item; next }
        my $distance = shift @packed;
        push @list, $list[-$distance] for 1 .. -$item;
    }
    die "steps are missing\n" unless @list == $profile->{n_steps};
    \@list
}
1;
END
data() # page
{
    PAGE=$1 perl -I. -Mpage -e "$(cat)" >out 2>err
    code=$?
}

# The plans of a page as files NUMBER.json with what it claims of them in the file claims.
write_plans='
    my $n = 0;
    open my $claims, ">", "claims";
    for my $profile (@{$page->{profiles}}) {
        my $steps = unpack_steps($profile);
        for my $planner (@{$profile->{planners}}) {
            for my $plan (map { columns($profile->{plan_columns}, $_) } @{$planner->{plans}}) {
                next unless $plan->{n_steps};
                my @steps = map { columns($profile->{kind_columns}, $profile->{kinds}[$_]) }
                    @$steps[$plan->{first_step} .. $plan->{first_step} + $plan->{n_steps} - 1];
                my %made = (format => "vbslab-schedule-1", request => $profile->{request}, io => $profile->{io},
                    weights => $profile->{weights}, memory_bytes => $plan->{memory_bytes},
                    $profile->{copy} ? (copy => $profile->{copy}) : (),
                    steps => [map { $_->{op} == 0 ?
                        {layer => $_->{layer}, batch => $_->{batch}, algorithm => $profile->{algorithms}[$_->{algorithm}],
                            $_->{n_slices} > 1 ? (part => $_->{slice}, parts => $_->{n_slices}) : ()} :
                        {op => $_->{op} == 1 ? "load" : "drop", layer => $_->{layer}, part => $_->{slice}, parts => $_->{n_slices},
                            bytes => $_->{bytes}, form => $_->{format}, $_->{resident} ? (resident => JSON::PP::true) : ()} } @steps]);
                open my $file, ">", ++$n . ".json";
                print $file encode_json(\%made);
                print $claims join(" ", $n, $planner->{name}, map { sprintf "%.6f", $plan->{$_} }
                    qw(memory_bytes peak_bytes time_us latency_us)), "\n";
            }
        }
    }'

# first FILE KEY: prints the first number with this key.
first()
{
    printf '%.6f' "$(grep -o "\"$2\": [0-9.e+-]*" "$1" | head -n 1 | sed 's/.* //')"
}

# replays NAME PROFILE PAGE: every plan of the page, replayed, has the peak, time and latency that it
# claims, and is what `vbslab plan` makes for its budget.
replays()
{
    rm -f ./*.json
    echo "$write_plans" | data "$3"
    [ $code -eq 0 ] && [ -s claims ]
    report $? "$1: plans are in the page"
    while read -r number planner memory peak time latency; do
        "$VBSLAB" replay "$2" "$number.json" --json >verdict 2>>err || echo "plan $number is refused"
        [ "$(first verdict peak_bytes) $(first verdict time_us) $(first verdict latency_us)" = "$peak $time $latency" ] || echo "plan $number of $planner: $peak $time $latency is not so"
        [ "$planner" = optimal ] && continue
        # shellcheck disable=SC2086 # words of options
        "$VBSLAB" plan "$2" --planner "$planner" --memory "${memory%.*}" $options --json plan >/dev/null 2>>err
        [ "$(first plan peak_bytes)" = "$peak" ] &&
            [ "$(grep -c '"layer"' plan)" -eq "$(grep -o '"layer"' "$number.json" | wc -l)" ] ||
            echo "plan $number is not the plan of $planner for $memory"
    done <claims >out
    [ ! -s out ]
    report $? "$1: $(wc -l <claims) plans replay to what is claimed"
}

options='--request 2'
run example.csv --request 2 --node-limit 1000 -o page.html
[ $code -eq 0 ] && [ ! -s out ] && [ ! -s err ] && [ -s page.html ]
report $? "a page is made, without a word"
replays "the example" example.csv page.html
echo 'print join " ", $page->{format}, map { my $p = $_; map { "$_->{name}:$_->{budgets}:" . @{$_->{plans}} } @{$p->{planners}} }
    @{$page->{profiles}}' | data page.html
grep -q '^vbslab-report-1 .*dp-vbs:exact:.*optimal:compared:' out
report $? "the page says how it found its plans"
"$VBSLAB" frontier example.csv --planner dp-vbs --request 2 --csv - | sed 1d | cut -d, -f1,2 >points
echo 'my $profile = $page->{profiles}[0];
    for (grep { $_->{name} eq "dp-vbs" } @{$profile->{planners}}) {
        print map { my $p = columns($profile->{plan_columns}, $_); "$p->{memory_bytes},$p->{time_us}\n" } @{$_->{plans}} }' | data page.html
cmp -s out points && [ -s out ]
report $? "the plans of dp-vbs are those of its frontier"
"$VBSLAB" compare example.csv --request 2 --node-limit 1000 --json >want.json
echo 'local $/; open my $file, "<", "want.json"; my $want = JSON::PP->new->decode(<$file>);
    for my $compare ($page->{profiles}[0]{compare}, $want->{profiles}[0]) {
        delete $_->{plan_us} for @{$compare->{rows}};
        print scalar @{$compare->{rows}}, JSON::PP->new->canonical->encode($compare), "\n" }' | data page.html
[ "$(uniq out | wc -l)" -eq 1 ] && [ "$(wc -l <out)" -eq 2 ] && ! grep -q '^0' out
report $? "gains are those of a comparison"

# A planner from outside that answers null, also between two budgets of which it has schedules.
cat >gap <<'END'
#!/bin/sh
step='{"layer":1,"batch":1,"algorithm":"default"},{"layer":2,"batch":1,"algorithm":"default"},{"layer":3,"batch":1,"algorithm":"default"}'
for m in $(sed -n 's/^ *"budgets": \[\(.*\)\],$/\1/p' | tr -d ,); do
    case $m in
    6 | 9) printf '{"format":"vbslab-schedule-1","request":2,"memory_bytes":%s,"steps":[%s,%s]}\n' "$m" "$step" "$step" ;;
    *) echo null ;;
    esac
done
END
chmod +x gap
run example.csv --request 2 --memory 4..10:1 --planners dp-vbs,exec:./gap -o page.html
[ $code -eq 0 ]
report $? "a planner without a plan for some budgets"
echo 'my $profile = $page->{profiles}[0];
    for (grep { $_->{name} eq "exec:gap" } @{$profile->{planners}}) {
        print join " ", map { my $plan = columns($profile->{plan_columns}, $_); "$plan->{memory_bytes}:" . ($plan->{n_steps} > 0 ? 1 : 0) } @{$_->{plans}} }' | data page.html
[ "$(cat out)" = "6:1 7:0 9:1 10:0" ]
report $? "the page says from which budgets on it has none"
echo 'my $profile = $page->{profiles}[0];
    for my $planner (@{$profile->{planners}}) {
        for my $row (grep { $_->{planner} eq $planner->{name} } @{$profile->{compare}{rows}}) {
            my @below = grep { $_->{memory_bytes} <= $row->{memory_bytes} } map { columns($profile->{plan_columns}, $_) } @{$planner->{plans}};
            my $has = @below && $below[-1]{n_steps} > 0 ? 1 : 0;
            print $has == ($row->{feasible} ? 1 : 0) ? "same\n" : "$planner->{name} at $row->{memory_bytes}\n" } }' | data page.html
[ "$(sort -u out)" = same ] && [ "$(wc -l <out)" -ge 14 ]
report $? "and has plans where the comparison has them"

options='--request 2 --weights included'
cat >weights.csv <<'END'
# model: weights
# copy: disk,65536,100,1,99,101,5
# copy: disk,1048576,900,1,890,910,5
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place,channels
1,L1,conv,0,1,a,40,64,64,64,4096,0,4
1,L1,conv,0,2,a,60,128,128,128,4096,0,4
2,L2,fc,1,1,a,40,64,64,0,8192,0,8
2,L2,fc,1,2,a,60,128,128,0,8192,0,8
END
run weights.csv --request 2 --weights included -o page.html
[ $code -eq 0 ]
report $? "weights inside the budget"
replays "weights inside" weights.csv page.html

# --- runs ---

# make_run FILE [CHANGE]: writes a run of plan.json whose steps take 2 us each, one after another; the
# perl statement CHANGE changes %run before.
"$VBSLAB" plan example.csv --planner dp-vbs --request 2 --memory 7 --json plan.json >/dev/null
make_run()
{
    perl -MJSON::PP -e 'local $/; open my $file, "<", "plan.json"; my $plan = decode_json(<$file>); my $n = @{$plan->{steps}} - 1;
        my %run = (format => "vbslab-run-1", provenance => {hash => $plan->{provenance}{hash}}, memory_bytes => 8,
            measured => {time_us => 2.5 * ($n + 1), n_runs => 3, p99_us => undef, odd => "<script>"},
            memory => {planned_bytes => 7, placed_bytes => 8, touched_bytes => 4096, high_water_bytes => 8192}, check => {bit_equal => JSON::PP::true},
            schedule => $plan, fastest => {time_us => 2 * ($n + 1), start_us => [map { 2 * $_ } 0 .. $n], end_us => [map { 2 * $_ + 2 } 0 .. $n]});
        eval $ARGV[1] if @ARGV > 1; open $file, ">", $ARGV[0]; print $file encode_json(\%run)' "$@"
}
make_run run.json
run example.csv --request 2 --planners dp-vbs --baselines fbs --run run.json,run.json -o page.html
[ $code -eq 0 ] && [ ! -s err ]
report $? "a page with two runs"
echo 'for my $run (@{$page->{runs}}) {
        my $plan = columns($page->{profiles}[$run->{profile_index}]{plan_columns}, $run->{plan});
        print join(" ", $run->{source}, $run->{planner}, $run->{request}, $run->{memory_bytes}, $plan->{peak_bytes}, $plan->{time_us},
            scalar @{unpack_steps($run)}, "@{$run->{start_us}}", "@{$run->{end_us}}", join(",", sort keys %{$run->{measured}}),
            $run->{memory}{high_water_bytes}, $run->{bit_equal}), "\n" }' | data page.html
want="run.json dp-vbs 2 8 7 20 4 0 2 4 6 2 4 6 8 n_runs,time_us 8192 1"
[ "$(cat out)" = "$want
$want" ]
report $? "has their schedules by the replay, the times of their steps, and of their figures only numbers"
wrong_run() # name want [change]
{
    name=$1 want=$2
    shift 2
    make_run wrong.json "$@"
    refuses "$name" 1 "$want" example.csv --request 2 --planners dp-vbs --baselines fbs --run wrong.json -o wrong.html
}
wrong_run "a run without steps" "has no steps; 'vbslab run --json --steps'" 'delete $run{schedule}'
wrong_run "another file" "'format' is not" '$run{format} = "vbslab-schedule-1"'
wrong_run "a run of no profile" "'provenance.hash'" 'delete $run{provenance}'
wrong_run "a run of another profile" "is no PROFILE of this page" '$run{provenance}{hash} = "0" x 32'
wrong_run "a time for each step but one" "one time for each of 4 steps" 'pop @{$run{fastest}{end_us}}'
wrong_run "a step that ends before it begins" "step 2 ends before it begins" '$run{fastest}{end_us}[1] = 1'
wrong_run "a run that measured no time" "'measured.time_us' is no time" '$run{measured}{time_us} = undef'
wrong_run "a time that is a word" "of step 3 is no time" '$run{fastest}{start_us}[2] = "<b>"'
wrong_run "a schedule that is none of the profile" "layer 9" '$run{schedule}{steps}[0]{layer} = 9'
wrong_run "an arena that is no number" "'memory_bytes'" '$run{memory_bytes} = "x"'
echo '{ "format": "vbslab-run-1", ' >wrong.json
refuses "a run that is broken off" 1 "wrong.json" example.csv --run wrong.json -o wrong.html
truncate -s 5G large.json
is_sanitized && limit=unlimited || limit=1000000
(ulimit -v $limit && run example.csv --run large.json -o wrong.html; exit $code)
[ $? -eq 1 ] && grep -q "'large.json' is larger than" err
report $? "a run of 5 GiB is refused before it is read"
rm large.json
refuses "a run that is not there" 1 "none.json" example.csv --run none.json -o wrong.html
[ ! -e wrong.html ]
report $? "and no page of them is left"

# --- names ---

cat >names.csv <<'END'
# model: "</script><script>alert('model')</script>"
# device: "\"quotes\" & <b>bold</b> <!--"
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,"</script><script>alert(""name"")</script>",conv,0,1,"<img src=x onerror=alert(1)>",4,1,1,1,0,0
2,"it's ]]> \u003c/script> <!-- <script>",conv,1,1,'"--><svg/onload=alert(2)>,3,1,1,1,0,0
END
sed -i "s/'\"-->/\"'\"\"-->/; s/alert(2)>,/alert(2)>\",/" names.csv
run names.csv -o page.html
[ $code -eq 0 ]
report $? "names with markup"
[ "$(grep -o '</script' page.html | wc -l)" -eq 4 ] && ! grep -q 'onerror=alert(1)>\|<script>alert\|<svg/onload' page.html
report $? "no name is markup in the page"
echo 'binmode STDOUT, ":utf8"; my $p = $page->{profiles}[0];
    print "$_\n" for $p->{model}, $p->{device}, map({ $_->{name} } @{$p->{layers}}), @{$p->{algorithms}}' | data page.html
cat >want <<'END'
</script><script>alert('model')</script>
"quotes" & <b>bold</b> <!--
</script><script>alert("name")</script>
it's ]]> \u003c/script> <!-- <script>
'"--><svg/onload=alert(2)>
<img src=x onerror=alert(1)>
END
sort out >a && sort want | cmp -s - a
report $? "names are in the data as they are"
sed 's/[^>]*d3js.org[^<]*//g' page.html | grep -v '^!function' | grep -o '\(src\|href\)="[^"]*"\|url([^)]*)\|@import\|fetch(\|XMLHttpRequest' >out
[ "$(cat out)" = 'href="data:,"' ]
report $? "nothing in the page leads out of it"
run names.csv -o - && cp out stdout.html && [ "$(tail -n 1 stdout.html)" = "</html>" ]
report $? "a page on standard output"
run "names.csv" -o "it's a page.html"
echo 'print $page->{command}' | data "it's a page.html"
case $(cat out) in "vbslab report names.csv -o 'it'\\''s a page.html'") true ;; *) false ;; esac
report $? "the command is in the page as a shell reads it"

# --- sizes ---

many=$(yes example.csv | head -n 100)
# shellcheck disable=SC2086 # words
run $many --request 2 --planners dp-vbs -o page.html
[ $code -eq 0 ]
# noise PERCENT: makes a profile whose intervals are so wide on both sides.
noise()
{
    awk -F, -v OFS=, -v half="$1" '
        NR == 1 { print $0, "mad_us", "low_us", "high_us", "n_runs"; next }
        { print $0, 0.1, $7 * (1 - half / 100), $7 * (1 + half / 100), 9 }' example.csv >noisy.csv
}
for half in 2 20; do
    noise $half
    run noisy.csv --request 2 -o noisy.html
    echo 'printf "%.6g\n", $page->{profiles}[0]{interval_percent}' | data noisy.html
    [ $code -eq 0 ] && [ "$(cat out)" = $half ]
    report $? "the page has the interval of its times, $half%"
done
run example.csv --request 2 -o noisy.html
echo 'print defined $page->{profiles}[0]{interval_percent} ? "known" : "null"' | data noisy.html
[ "$(cat out)" = null ] && grep -q '<p id="noise" role="alert" hidden>' noisy.html
report $? "or none, where times have no intervals"
echo 'print scalar @{$page->{profiles}}' | data page.html
[ "$(cat out)" -eq 100 ]
report $? "100 profiles"
VBSLAB_DB=empty.sqlite "$VBSLAB" report example.csv --request 2 --planners dp-vbs -o page.html >out 2>err
[ $? -eq 0 ] && [ ! -e empty.sqlite ]
report $? "a file needs no store"
awk 'BEGIN { print "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place"
    for (k = 1; k <= 3000; k++) for (b = 1; b <= 2; b++)
        printf "%d,L%d,conv,%d,%d,a,%d,%d,%d,%d,0,0\n", k, k, k - 1, b, (b == 1 ? 4 : 6) + k % 7, 64 * b, 64 * b, k % 13 * 16 * b }' >deep.csv
run deep.csv --request 4 --baselines fbs --planners dp-vbs -o page.html
[ $code -eq 0 ]
report $? "a network of 3000 layers"
echo 'my $p = $page->{profiles}[0]; unpack_steps($p);
    print scalar @{$p->{layers}}, map { " $_->{name} " . @{$_->{plans}} . " $_->{refused}" } @{$p->{planners}}' | data page.html
grep -q '^3000 fbs [1-9][0-9]*  dp-vbs 0 .*3000 layers.* needs more than' out
report $? "the page says which planner it is too large for"

finish
