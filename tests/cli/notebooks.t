#!/bin/sh
# vbslab export --notebook: every experiment as a notebook that is the one of notebooks-export but for its
# outputs, a notebook about a network, names that need quotes, experiments of the user's, and refusals.
# make test-notebooks executes notebooks. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

# check NAME SCRIPT ARGUMENTS...: runs a script of Python, which fails where something is wrong.
check()
{
    name=$1 script=$2
    shift 2
    if command -v python3 >/dev/null; then
        python3 -c "$script" "$@" >out 2>err
        code=$?
        report $code "$name"
    else
        skip "$name" "no python3"
    fi
}

run export --notebook list
[ $code -eq 0 ] && sed -n '2,$s/ .*//p' out >questions && grep -q '^my-network$' questions
report $? "the questions are listed"
sed -n 's/^| \[\([^]]*\)\](.*/\1/p' "$ROOT/experiments/README.md" | sort >wanted
sort questions >sorted && [ -z "$(comm -23 wanted sorted)" ]
report $? "... every experiment of experiments/README.md among them"
ls "$ROOT/notebooks-export" | sed -n 's/\.ipynb$//p' | sort | diff - sorted >out
report $? "... and each is in notebooks-export"

mkdir made
code=0
while read -r question; do
    [ "$question" = my-network ] || "$VBSLAB" export --notebook "$question" -o "made/$question.ipynb" >>out 2>&1 || code=1
done <questions
(cd "$ROOT/notebooks-export" && "$VBSLAB" export --notebook my-network ../db/profiles/squeezenet-v1.0-a.csv -o -) \
    >made/my-network.ipynb 2>err || code=1
report $code "all are exported"
check "... valid in form, with ids, and as they are shipped" '
import json, pathlib, sys
for path in sorted(pathlib.Path("made").glob("*.ipynb")):
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5), path
    ids = [cell["id"] for cell in book["cells"]]
    assert len(ids) == len(set(ids)) and all(0 < len(name) <= 64 for name in ids), path
    for cell in book["cells"]:
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | (
            {"outputs", "execution_count"} if cell["cell_type"] == "code" else set()), path
        if cell["cell_type"] == "code":
            compile("".join(cell["source"]), str(path), "exec")
    shipped = json.loads((pathlib.Path(sys.argv[1]) / path.name).read_text(encoding="utf-8"))
    for cell in shipped["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    assert shipped == book, f"{path} is not as shipped: make notebooks"
' "$ROOT/notebooks-export"

# --- about a network ---

"$VBSLAB" profiles export vbs-example "it's \"one\" \\ é.csv"
prints "a notebook about a profile with quotes in its name" "has 20 cells" \
    export --notebook my-network "it's \"one\" \\ é.csv" -o made/mine.ipynb
check "... which is a literal of Python, seen from the notebook's folder" '
import ast, json
cells = [cell for cell in json.load(open("made/mine.ipynb"))["cells"] if cell["cell_type"] == "code"]
loads = [node for cell in cells for node in ast.walk(ast.parse("".join(cell["source"])))
         if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Profile"]
assert [load.args[0].value for load in loads] == ["../it\x27s \"one\" \\ \u00e9.csv"], ast.dump(loads[0])
'
prints "a notebook about a network, which it measures where the store has no profile" "'my-network.ipynb' has 20 cells" \
    export --notebook my-network lenet-5
grep -q 'vbslab.Network(\\"lenet-5\\")' my-network.ipynb
report $? "... by its name"
refuses "a notebook of that name is not replaced unasked" 2 "is there already" export --notebook my-network lenet-5
prints "... but with -o" "'my-network.ipynb' has 20 cells" export --notebook my-network lenet-5 -o my-network.ipynb
refuses "a network is needed" 2 "needs one MODEL or PROFILE" export --notebook my-network
refuses "a network that is not there" 1 "lenet-6.net" export --notebook my-network lenet-6.net -o x.ipynb
refuses "standard input is none" 2 "not standard input" export --notebook my-network - -o x.ipynb

# --- experiments of the user's ---

mkdir -p "mine/my \"own\""
printf '# Mine\n\nSee [data](data.csv) and [x](#x).\n\n<!-- results of ./run: begin -->\nstale\n<!-- results of ./run: end -->\n\n![Bars](bars.svg)\n![None](none.svg)\n' \
    >"mine/my \"own\"/README.md"
printf -- '-- A view.\n    CREATE VIEW v AS SELECT 1 AS a -- one\n\nOne is %%d.\n    SELECT a FROM v\n\n"""odd"""\n    SELECT 1\n' >"mine/my \"own\"/answer.md"
printf 'a\n1\n' >"mine/my \"own\"/data.csv"
printf 'experiment.sql("SELECT * FROM data")\n' >"mine/my \"own\"/bars.py"
prints "a folder is an experiment, too" "'my \"own\".ipynb' has 8 cells" export --notebook "mine/my \"own\"/"
check "... whose text, views, answers and figures become cells" '
import json, sqlite3
cells = json.load(open("my \"own\".ipynb"))["cells"]
text = ["".join(cell["source"]) for cell in cells]
assert text[0] == "# Mine\n\nSee [data](data.csv) and [x](#x)." and "stale" not in "".join(text), text
assert "[None](none.svg)" in text[-1] and text[-2] == "# Bars\nexperiment.sql(\"SELECT * FROM data\")", text[-2:]
calls = {}
class Experiment:
    def __init__(self, name, folder): calls["at"] = (name, folder)
    def load(self, *files): calls["files"] = files; return self
    def define(self, sql): sqlite3.connect(":memory:").executescript(sql); calls["sql"] = sql
    def answer(self, text): calls.setdefault("answers", []).append(text)
experiment = Experiment("my \"own\"", "x")
for cell in cells:
    if cell["cell_type"] == "code" and "".join(cell["source"]).startswith("experiment.") and "sql(" not in "".join(cell["source"]):
        exec("".join(cell["source"]))
assert calls["answers"] == ["\nOne is %d.\n    SELECT a FROM v\n", "\"\"\"odd\"\"\"\n    SELECT 1\n"], calls
assert "folder=\"mine/my \\\"own\\\"\").load(\"data.csv\")" in "".join(text), text
'
VBSLAB_DATA=$dir/mine
export VBSLAB_DATA
refuses "data without experiments" 1 "VBSLAB_DATA" export --notebook list
mkdir -p mine/experiments && mv "mine/my \"own\"" mine/experiments/own
prints "VBSLAB_DATA names the data" "own         Mine" export --notebook list
refuses "an experiment that is not among them" 2 "did you mean 'own'" export --notebook owm -o x.ipynb
printf '\377' >>mine/experiments/own/answer.md
refuses "a text that is no UTF-8" 1 "is no text in UTF-8" export --notebook own -o x.ipynb
unset VBSLAB_DATA

refuses "a question that nothing is like" 2 "notebook list" export --notebook qqqqqqqqqqqqqqqq -o x.ipynb
refuses "a folder that is no experiment" 2 "no README.md and answer.md" export --notebook ./made -o x.ipynb
refuses "a network beside an experiment" 2 "takes no further argument" export --notebook vbs-example lenet-5
refuses "another ending" 2 "ends in .ipynb" export --notebook vbs-example -o x.json
refuses "an input shape" 2 "exclude each other" export --notebook vbs-example --input 1x2x3
refuses "a folder that is not there" 1 "there is no folder" export --notebook vbs-example -o none/x.ipynb
[ ! -e x.ipynb ] && [ ! -e x.json ]
report $? "no file is left behind"

finish
