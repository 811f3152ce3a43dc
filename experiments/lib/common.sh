# Functions that all experiments share; sourced by its `run` after `here` was set to its folder.
#
#   VBSLAB            the program (default build/vbslab)
#   VBSLAB_PROFILES   the folder of the measured profiles (default db/profiles)
#   RESULTS           where results go (default: beside the script)
set -eu
LC_ALL=C
export LC_ALL
unset CDPATH NO_COLOR

absolute() {
    case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$PWD" "$1" ;;
    esac
}

fail() { # text [exit code]
    printf '%s: %s\n' "${here##*/}" "$1" >&2
    exit "${2:-1}"
}

experiments=${here%/*}
lib=$experiments/lib
root=${experiments%/*}
case ${VBSLAB:=$root/build/vbslab} in
*/*) VBSLAB=$(absolute "$VBSLAB") ;;
esac
profiles=$(absolute "${VBSLAB_PROFILES:-$root/db/profiles}")
results=$(absolute "${RESULTS:-$here}")

command -v "$VBSLAB" >/dev/null ||
    fail "no program '$VBSLAB'; build it with 'make', or set VBSLAB"
command -v gnuplot >/dev/null || fail "plots need gnuplot (Debian: gnuplot-nox)"
command -v sqlite3 >/dev/null || fail "tables need sqlite3 (Debian: sqlite3)"
mkdir -p "$results"
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
trap 'exit 1' HUP INT TERM

# The path of profile NAME, as 'googlenet-a'.
profile() {
    [ -r "$profiles/$1.csv" ] ||
        fail "no profile '$profiles/$1.csv'; 'experiments/measure ${1%-?}' measures it"
    printf '%s\n' "$profiles/$1.csv"
}

# Copies these columns of the rows of a CSV file, behind a text. The texts are not converted, so that
# numbers keep their digits.
columns() { # text, columns with commas between them, file
    awk -v before="$1" -v columns="$2" -f "$lib/quotes.awk" -f "$lib/csv.awk" -f "$lib/columns.awk" "$3"
}

# Fills in a template: text with the results of queries. The CSV files are the tables of a database in
# memory. Sums, joins and medians are the work of SQLite, so that a template says what its numbers are.
#
#   query TEMPLATE [:NAME=VALUE | TABLE=FILE.csv | FILE.csv | TABLE=FILE.json | FILE.sql]...
#
#   TEMPLATE          a file, or - for the standard input
#   :NAME=VALUE       the value of :NAME in the queries
#   TABLE=FILE.csv    a table; given several times, of the rows of several files
#   FILE.csv          the same with the name of the file, _ in the place of other signs
#   TABLE=FILE.json   a table of one row and one column, json
#   FILE.sql          definitions that several templates share
#
# The comments "# key: value" of the files are the table about(source, key, value), whose source is the
# table of the file. The view origin(source, device, day) says where and when a file was measured.
#
# In a template
#
#   - lines indented by four are SQL. The line above them is the format of printf (lib/print.awk) that
#     prints every row of the result;
#   - SQL below a comment prints nothing: it defines views and tables. An empty line behind it is left
#     out;
#   - lines that begin with -- are comments;
#   - all other lines are printed. One that ends with \ is continued by the next;
#   - one that begins with "error: " is printed as an error, and ends the experiment.
#
# A missing value prints as "-", but as nothing where the template is NAME.rows, of a CSV file, or the
# standard input. Columns of times (us, ms, s) are real numbers; of others that are whole numbers, such
# as bytes, a ratio needs a divisor like 1e3.
query() {
    template=$1
    shift
    missing=-
    case $template in *.rows | -) missing= ;; esac
    {
        {
            prepare "$@"
            awk -f "$lib/template.awk" "$template" || stop_query
        } | sqlite3 -batch -init /dev/null :memory: || printf '\034\n'
    } | awk -v missing="$missing" -f "$lib/print.awk" || fail "cannot fill in '$template'"
}

# Lets print.awk fail.
stop_query() {
    echo 'SELECT char(28);'
}

# The SQL that comes before the queries of a template: parameters, tables, shared definitions.
prepare() { # what query takes behind the template
    printf '.bail on\n.mode quote\n.separator "\\037" "\\n"\n.parameter init\n'
    cat <<'END'
CREATE TABLE about(source, key, value);
CREATE VIEW origin AS SELECT source, max(value) FILTER (WHERE key = 'device') AS device,
    substr(max(value) FILTER (WHERE key = 'date'), 1, 10) AS day FROM about GROUP BY source;
END
    for given; do
        name=${given%%=*} value=${given#*=}
        case $name in
        */* | "$given")
            value=$given
            name=${given##*/}
            name=$(printf '%s' "${name%.csv}" | tr -c '[:alnum:]' _)
            ;;
        esac
        case $name,$value in
        :*) echo "INSERT INTO temp.sqlite_parameters VALUES('$name', $(literal "$value"));" ;;
        *.sql) ;;
        *.json)
            cat "$value" >/dev/null &&
                echo "CREATE TABLE $name AS SELECT CAST(readfile($(quoted "$value")) AS TEXT) AS json;"
            ;;
        *) awk -v table="$name" -f "$lib/quotes.awk" -f "$lib/load.awk" "$value" ;;
        esac || stop_query
    done
    for given; do
        case $given in *.sql) cat "$given" || stop_query ;; esac
    done
}

# A value as SQL has it: a number where it looks like one, else a text.
literal() { # value
    case $1 in
    '' | . | *[!0-9.]* | *.*.*) quoted "$1" ;;
    *) printf '%s' "$1" ;;
    esac
}

quoted() { # text
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"
}

# The result of one query, a text or a whole number; its further lines are indented by four.
value() { # SQL, what query takes behind the template
    sql=$1
    shift
    printf '%%s\n    %s\n' "$sql" | query - "$@"
}

# One sentence for each machine that the profile files come from.
machines() {
    for file; do
        awk -f "$lib/machine.awk" "$file"
    done | sort -u
}

compare_columns=label,judge,request,io,memory_bytes,planner,feasible,per_sample_us,\
gain_over_fbs_percent,gain_over_fbs_best_percent,gap_percent,min_batch,max_batch,peak_bytes,\
least_bytes

# Rows of the four planners of this experiment, planned on one profile and judged by another, with
# a label before them and without what differs from one run to the next. Nothing that fits is a
# result too, so exit code 3 is none.
compare() { # label, profile, judge, further arguments of compare
    label=$1 planned=$2 judge=$3
    shift 3
    "$VBSLAB" compare "$planned" --judge "$judge" --baselines fbs,fbs-best,greedy-vbs \
        --planners dp-vbs --csv "$@" >"$temp/compare.csv" 2>"$temp/compare.log" || [ $? -eq 3 ] || {
        cat "$temp/compare.log" >&2
        fail "cannot compare '$label'"
    }
    judged_by=second
    [ "$planned" != "$judge" ] || judged_by=self
    columns "$label,$judged_by," "${compare_columns#label,judge,}" "$temp/compare.csv"
}

# Draws NAME.svg and NAME.png of the results with NAME.gp of the experiment.
draw() {
    for format in svg png; do
        (cd "$results" && gnuplot -d -c "$here/$1.gp" "$format" "$experiments") ||
            fail "cannot draw '$1.$format'"
        [ -s "$results/$1.$format" ] || fail "'$1.$format' came out empty"
    done
}

# Puts $temp/results.md between the two marks of README.md, and shows its answer.
fill() {
    awk -v results="$temp/results.md" -f "$lib/fill.awk" "$here/README.md" \
        >"$temp/README.md" || fail "README.md lacks the marks of its results"
    cat "$temp/README.md" >"$results/README.md"
    sed -n 's/^\*\*In short:\*\* */'"${here##*/}"': /p' "$temp/results.md"
}
