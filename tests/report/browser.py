"""Checks pages of `vbslab report` and `vbslab explain --html` in Chromium against what the program itself
says; prints TAP.

Environment: VBSLAB (the program), ROOT (of the project), SCREENSHOTS (a folder).
"""

import base64
import csv
import json
import os
import subprocess
import sys

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

VBSLAB, ROOT, SCREENSHOTS = (os.environ[name] for name in ("VBSLAB", "ROOT", "SCREENSHOTS"))
GOOGLENET = ROOT + "/db/profiles/googlenet-a.csv"
ALEXNET = ROOT + "/db/profiles/alexnet-weights-a.csv"
results = []


def check(name, passed, why=""):
    results.append(passed)
    print(("ok" if passed else "not ok"), len(results), "-", name, flush=True)
    if not passed and why:
        print("# " + str(why)[:2000].replace("\n", "\n# "), file=sys.stderr)


def vbslab(*words):
    return subprocess.run([VBSLAB, *words], capture_output=True, text=True, check=True).stdout


def begin():
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.add_experimental_option("prefs", {"download.default_directory": os.getcwd()})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def show(driver, page, width, height=900):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    driver.get("file://" + os.path.abspath(page))


def cut_texts(driver):
    """Gives the texts of pictures that stand beyond the border of their picture."""
    return driver.execute_script("""
        const cut = [];
        for (const svg of document.querySelectorAll('svg')) {
            const box = svg.getBoundingClientRect();
            for (const text of svg.querySelectorAll('text')) {
                const at = text.getBoundingClientRect();
                if (at.width && (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1))
                    cut.push(svg.getAttribute('aria-label') + ': ' + text.textContent);
            }
        }
        return cut;""")


def silent(driver, name):
    """No message on the console, no request but for the page itself."""
    messages = [entry["message"] for entry in driver.get_log("browser")]
    requests = []
    for entry in driver.get_log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent":
            url = event["params"]["request"]["url"]
            if not url.startswith(("file://", "data:", "blob:")):
                requests.append(url)
    check(name + ": no message on the console", not messages, messages)
    check(name + ": no request", not requests, requests)


def quiet(driver, name):
    """As silent, no fault that the page reports, and no text of a picture that is cut."""
    cut = cut_texts(driver)
    check(name + ": no text of a picture is cut", not cut, cut)
    silent(driver, name)
    fault = driver.find_element(By.ID, "fault")
    check(name + ": the page and the replay agree", not fault.is_displayed(), fault.text)


def keep(driver, name, width):
    height = driver.execute_script("return document.documentElement.scrollHeight")
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {
        "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
    with open(os.path.join(SCREENSHOTS, name + ".png"), "wb") as file:
        file.write(base64.b64decode(shot["data"]))


def open_tables(driver):
    for summary in driver.find_elements(By.CSS_SELECTOR, "details summary"):
        driver.execute_script("arguments[0].click()", summary)


def choose(driver, side, planner):
    driver.execute_script(
        "const s = document.getElementById('planner-' + arguments[0]);"
        "s.selectedIndex = [...s.options].findIndex(o => o.text === arguments[1]);"
        "s.dispatchEvent(new Event('change'))", side, planner)


def slide(driver, budget):
    """Moves the slider, and types the budget where the slider's positions are not bytes."""
    driver.execute_script(
        "const b = arguments[0], s = document.getElementById('slider'), t = document.getElementById('budget');"
        "if (!state.profile.range.isLog) { s.value = b; s.dispatchEvent(new Event('input')); }"
        "else { t.value = b; t.dispatchEvent(new Event('change')); }", str(budget))


def without_solver(text):
    return [line for line in text.splitlines() if not line.startswith('  "solver"')]


def compare_budget(driver, profile, words, planner, budget, trace):
    """Compares what the page shows for a budget with what the program plans and replays there."""
    slide(driver, budget)
    facts = driver.find_element(By.ID, "facts-0")
    plan = json.loads(vbslab("plan", profile, "--planner", planner, "--memory", str(budget), "--json", "-", *words))
    at = facts.get_attribute("data-memory")
    there = vbslab("plan", profile, "--planner", planner, "--memory", at, "--json", "-", *words)
    saved = driver.execute_script("return planText(state.profile, planAt(state.profile.planners[state.planners[0]], state.budget))")
    wrong = []
    if driver.execute_script("return state.budget") != budget:
        wrong.append("the budget is another")
    if int(facts.get_attribute("data-peak")) != plan["predicted"]["peak_bytes"]:
        wrong.append("peak")
    if abs(float(facts.get_attribute("data-time")) / plan["predicted"]["time_us"] - 1) > 1e-9:
        wrong.append("time")
    if json.loads(saved)["steps"] != plan["steps"]:
        wrong.append("steps")
    if json.loads("\n".join(without_solver(saved)))["steps"] != json.loads(there)["steps"]:
        wrong.append("steps of the least budget")
    exact = {key: value for key, value in json.loads(there).items() if key not in ("solver", "predicted")}
    shown = {key: value for key, value in json.loads(saved).items() if key != "predicted"}
    if exact != shown:
        wrong.append("the saved plan")
    if "%s bytes" % format(plan["predicted"]["peak_bytes"], ",") not in facts.text:
        wrong.append("the text of the peak")
    if trace:
        wrong += compare_trace(driver, profile, saved)
    return ["%s at %d: %s" % (planner, budget, ", ".join(wrong))] if wrong else []


def compare_trace(driver, profile, saved):
    """Compares the steps that the page computes with the trace of the replay, to the byte."""
    with open("saved.json", "w", encoding="utf-8") as file:
        file.write(saved)
    subprocess.run([VBSLAB, "replay", profile, "saved.json", "--trace", "trace.csv"], capture_output=True, check=True)
    with open("trace.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    steps = driver.execute_script(
        "return stepsOf(state.profile, planAt(state.profile.planners[state.planners[0]], state.budget))"
        ".map(s => [s.live, s.added, s.ws, s.weights, s.memory, s.start, s.end, s.from])")
    if len(rows) != len(steps):
        return ["the number of steps"]
    names = ("live_bytes", "added_bytes", "ws_bytes", "weight_bytes", "memory_bytes", "start_us", "end_us")
    for row, step in zip(rows, steps):
        for name, value in zip(names, step):
            # An evict and a resident load take no time; the page does not place them on a clock.
            if row["op"] == "drop" and name in ("start_us", "end_us"):
                continue
            if abs(float(row[name]) - value) > 1e-9 * abs(value):
                return ["%s of step %s: %s, not %s" % (name, row["step"], value, row[name])]
        if row["op"] == "compute" and int(row["done_before"]) != step[7]:
            return ["samples of step " + row["step"]]
    return []


def test_googlenet(driver):
    vbslab("report", GOOGLENET, "--node-limit", "300", "-o", "page.html")
    check("the page of GoogLeNet takes at most 1.5 MB", os.path.getsize("page.html") <= 1500000, os.path.getsize("page.html"))
    show(driver, "page.html", 1400)
    wrong = []
    budgets = [5000000, 4816896, 20 * 1048576, 20 * 1048576 + 1, 22970367, 22970368, 31234567, 40000001, 48 * 1048576, 7777777]
    for i, budget in enumerate(budgets):
        planner = ("dp-vbs+", "dp-vbs", "fbs", "dp-monotone", "fbs-best")[i % 5]
        choose(driver, 0, planner)
        if budget < driver.execute_script("return state.profile.planners[state.planners[0]].list[0].memory_bytes"):
            budget += 2000000
        wrong += compare_budget(driver, GOOGLENET, (), planner, budget, i % 3 == 0)
    check("ten budgets show what the program plans there", not wrong, wrong)
    check_exactness(driver)
    check_controls(driver)
    keep(driver, "googlenet-1400", 1400)
    quiet(driver, "GoogLeNet")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    show(driver, "page.html", 400)
    wide = driver.execute_script("return document.documentElement.scrollWidth")
    check("nothing is wider than a phone", wide <= 400, wide)
    keep(driver, "googlenet-400-dark", 400)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    show(driver, "page.html", 720)
    drawn = driver.execute_script("return [...document.querySelectorAll('button, .controls, input, details')].filter(e => e.offsetParent).length")
    wide = driver.execute_script("return document.documentElement.scrollWidth")
    check("on paper there are no controls, and nothing is cut off", drawn == 0 and wide <= 720, (drawn, wide))
    keep(driver, "googlenet-print", 720)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def check_exactness(driver):
    """One byte below each of some breakpoints the page has the plan before, as the program."""
    choose(driver, 0, "dp-vbs+")
    points = driver.execute_script("return state.profile.planners[state.planners[0]].list.map(p => p.memory_bytes)")
    wrong = []
    for at in (points[1], points[len(points) // 2], points[-1]):
        for budget in (at - 1, at):
            wrong += compare_budget(driver, GOOGLENET, (), "dp-vbs+", budget, False)
    check("breakpoints are exact to the byte", not wrong, wrong)


def check_controls(driver):
    before = driver.execute_script("return state.budget")
    slide(driver, 20000000)
    slider = driver.find_element(By.ID, "slider")
    slider.send_keys(Keys.ARROW_RIGHT)
    after = driver.execute_script("return state.budget")
    known = driver.execute_script("return state.profile.planners[state.planners[0]].list.map(p => p.memory_bytes)")
    check("an arrow key leads to the next plan", after == min(m for m in known if m > 20000000), (before, after))
    slider.send_keys(Keys.PAGE_UP)
    check("Page Up adds a MiB", driver.execute_script("return state.budget") == after + 1048576)
    typed = driver.find_element(By.ID, "budget")
    typed.clear()
    typed.send_keys("20MiB", Keys.TAB)
    check("a budget can be typed", driver.execute_script("return state.budget") == 20 * 1048576)
    open_tables(driver)
    # The event that a details element was opened comes later.
    driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 200))")
    tables = driver.execute_script("return [...document.querySelectorAll('figure')].filter(f => !f.querySelector('table')).length")
    check("a table is behind each picture", tables == 0, tables)
    names = driver.execute_script("return [...document.querySelectorAll('svg[role=img], button, select, input')]"
                                  ".filter(e => !(e.getAttribute('aria-label') || e.textContent || e.labels && e.labels.length)).length")
    check("pictures and controls have names", names == 0, names)
    svg = driver.execute_script("return svgText(document.querySelector('#curve svg'))")
    parsed = subprocess.run(["/usr/bin/python3", "-c", "import sys, xml.dom.minidom as m; m.parseString(sys.stdin.buffer.read())"],
                            input=svg.encode(), capture_output=True, check=False)
    check("a picture is saved as well-formed SVG", parsed.returncode == 0 and "stroke" in svg, parsed.stderr)
    rows = driver.execute_script("const t = curveTable(state.profile); return csvText(t.columns, t.rows)")
    table = list(csv.DictReader(rows.splitlines()))
    check("a table is saved as CSV", len(table) > 100 and all(row["planner"] for row in table))
    long = driver.execute_script("return [...document.querySelectorAll('td')].map(c => c.textContent)"
                                 ".filter(t => t.includes('.') && Number(t) && Number(t) !== Number(Number(t).toPrecision(7)))")
    check("tables on the page have no more digits than a reader can use", not long, long[:5])
    driver.execute_script("document.getElementById('save-0').click()")
    saved = driver.execute_async_script("setTimeout(arguments[0], 500)") or [f for f in os.listdir(".") if f.startswith("plan-")]
    check("a plan is saved as a file that replays",
          len(saved) == 1 and subprocess.run([VBSLAB, "replay", GOOGLENET, saved[0]], capture_output=True, check=False).returncode == 0, saved)
    check_same_plans(driver)


def check_same_plans(driver):
    """Of planner optimal the page has a plan for each compared budget; equal neighbours are one plan to the reader."""
    choose(driver, 0, "optimal")
    wrong = driver.execute_script("""
        const profile = state.profile, planner = profile.planners[state.planners[0]], wrong = [];
        const key = plan => kindsOf(profile, plan).map(kind => profile.kindList.indexOf(kind)).join();
        planner.list.forEach((plan, i) => {
            setBudget(plan.memory_bytes);
            const other = planner.list.slice(i + 1).find(p => key(p) !== key(plan));
            const next = neighbour(1), said = nextText(profile, plan);
            if (next !== (other ? other.memory_bytes : plan.memory_bytes) || said.startsWith("none") !== !other ||
                (other && !said.includes(exactText(other.memory_bytes))) || moreText(profile, plan).includes(" 0% less; the same batches"))
                wrong.push([plan.memory_bytes, next, said, moreText(profile, plan)]);
        });
        return wrong.concat(planner.list.some((plan, i) => i && key(plan) === key(planner.list[i - 1])) ? [] : ["no equal neighbours"]);""")
    check("the next plan is one that differs", not wrong, wrong)


def test_small(driver):
    """A network of bytes and microseconds has axes and steps of these."""
    vbslab("report", "vbs-example", "--request", "2", "--node-limit", "300", "-o", "small.html")
    for width in (1400, 400):
        show(driver, "small.html", width)
        quiet(driver, "a small network at %d pixels" % width)
    slide(driver, 8)
    facts = driver.find_element(By.ID, "facts-0").text
    clock = driver.execute_script("return [...document.querySelectorAll('.clocks text.title')].map(t => t.textContent)")
    check("its units are bytes and us", "one more byte" in facts and "us" in clock and "ms" not in clock, (facts, clock))
    driver.find_element(By.ID, "slider").send_keys(Keys.PAGE_UP)
    budget = driver.execute_script("return state.budget")
    check("Page Up adds a byte to it", budget == 9, budget)
    vbslab("report", ALEXNET, "--memory", "1KiB", "--node-limit", "300", "-o", "small.html")
    show(driver, "small.html", 1400)
    facts, axis = driver.find_element(By.ID, "facts-0").text, driver.find_element(By.CSS_SELECTOR, "#curve svg").text
    check("units are those of the plans, not of the budgets that were compared", "one more MiB" in facts and "budget, MiB" in axis, (facts, axis))


def make_run(name, profile, words, planner, memory):
    """Writes a run in which each step begins when it was planned to and takes a tenth longer than it may."""
    plan = json.loads(vbslab("plan", profile, "--planner", planner, "--memory", str(memory), "--json", "-", *words))
    with open("plan.json", "w", encoding="utf-8") as file:
        json.dump(plan, file)
    subprocess.run([VBSLAB, "replay", profile, "plan.json", "--trace", "trace.csv"], capture_output=True, check=True)
    with open("trace.csv", encoding="utf-8") as file:
        times = [[float(row[key]) for key in ("start_us", "end_us")] for row in csv.DictReader(file)]
    peak = plan["predicted"]["peak_bytes"]
    run = {"format": "vbslab-run-1", "provenance": {"hash": plan["provenance"]["hash"]}, "memory_bytes": memory,
           "measured": {"time_us": 1.2 * plan["predicted"]["time_us"], "n_runs": 5, "fastest_us": 1.1 * plan["predicted"]["time_us"]},
           "memory": {"planned_bytes": peak, "placed_bytes": peak + 4096, "touched_bytes": peak + 8192, "high_water_bytes": peak + 65536,
                      "base_bytes": 90000000},
           "check": None, "schedule": plan,
           "fastest": {"start_us": [1.1 * start for start, end in times], "end_us": [1.1 * end for start, end in times]}}
    with open(name, "w", encoding="utf-8") as file:
        json.dump(run, file)
    return times


def check_run(driver, times):
    """The section of a run: what its table, its slider and its peaks say."""
    section = driver.find_element(By.ID, "run-section")
    check("the run is shown", section.is_displayed() and "5 runs" in section.text, section.text)
    rows = driver.execute_script("return runTable(report.runs[0]).rows")
    wrong = [i for i, (row, (start, end)) in enumerate(zip(rows, times))
             if row[1] != "drop" and not (row[1] == "load" and end == start) and
             (abs(row[9] - 1.1 * start) > 1e-3 or abs(row[10] - 1.1 * end) > 1e-3 or abs(row[11] - (end - start)) > 1e-6 * end + 1e-6)]
    check("each step stands planned beside executed", len(rows) == len(times) and not wrong, wrong[:10])
    slider = driver.find_element(By.ID, "run-step")
    slider.send_keys(Keys.HOME)
    first = driver.find_element(By.ID, "run-step-text").text
    slider.send_keys(Keys.ARROW_RIGHT)
    second = driver.find_element(By.ID, "run-step-text").text
    check("a slider goes through its steps", "+10" in first and first != second and slider.get_attribute("aria-valuetext") in second, (first, second))
    marks = driver.execute_script("return document.querySelectorAll('.executed svg rect.clock').length")
    timed = driver.execute_script("return timedSteps(report.runs[0]).length")
    check("each of them is drawn twice", marks == 2 * timed and timed > 10, (marks, timed))
    driver.execute_script("document.querySelector('.peaks details summary').click()")
    driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 200))")
    text = driver.find_element(By.CSS_SELECTOR, ".peaks table").text
    check("four peaks have a table", all(word in text for word in ("planned", "placed", "touched", "process", "base")), text)


def test_weights(driver):
    words = ("--weights", "included")
    times = make_run("run.json", ALEXNET, words, "joint", 16777216)
    vbslab("report", ALEXNET, *words, "--run", "run.json", "-o", "weights.html")
    show(driver, "weights.html", 1400)
    wrong = []
    for planner, budgets in (("joint", (3000001, 16777216, 300000000)), ("mmcnn", (4194304,)), ("vdnn", (200000000,)),
                             ("dp-vbs+", (300000000,))):
        choose(driver, 0, planner)
        for budget in budgets:
            wrong += compare_budget(driver, ALEXNET, words, planner, budget, True)
    check("weights inside the budget: plans, memory and both clocks", not wrong, wrong)
    choose(driver, 0, "joint")
    slide(driver, 16777216)
    check_run(driver, times)
    keep(driver, "weights-1400", 1400)
    quiet(driver, "weights inside")


def test_beside(driver):
    """Copies and layers that slow each other down: the page has the clocks of the replay."""
    with open(ALEXNET, encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    n_layers = max(int(row["layer"]) for row in rows)
    factors = [1.25] + [1 + k % 4 / 4 for k in range(1, n_layers + 1)]
    with open("beside.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(["# beside: page-cache," + ",".join(map(str, factors))] + lines) + "\n")
    words = ("--weights", "included", "--copy", "page-cache")
    vbslab("report", "beside.csv", *words, "-o", "beside.html")
    show(driver, "beside.html", 1400)
    wrong, times = [], []
    for planner, budget in (("joint", 16777216), ("mmcnn", 4194304), ("vdnn", 200000000)):
        choose(driver, 0, planner)
        slide(driver, budget)
        if driver.execute_script("return state.profile.planners[state.planners[0]].budgets") == "some":
            # The page leaves out plans between others: take the budget of one that it has.
            budget = int(driver.find_element(By.ID, "facts-0").get_attribute("data-memory"))
        wrong += compare_budget(driver, "beside.csv", words, planner, budget, True)
        for profile in (ALEXNET, "beside.csv"):
            plan = json.loads(vbslab("plan", profile, "--planner", planner, "--memory", str(budget), "--json", "-", *words))
            times.append(plan["predicted"]["time_us"])
    check("copies and layers that slow each other down", not wrong, wrong)
    check("which makes plans slower", all(slow > alone for alone, slow in zip(times[::2], times[1::2])), times)


def test_rows(driver):
    """Plans by rows: windows, and the rows of each step."""
    vbslab("measure", "squeezenet-v1.0", "--backend", "analytic", "--stripes", "--batches", "1,2,4", "--db", "rows.sqlite")
    vbslab("profiles", "export", "1", "rows.csv", "--db", "rows.sqlite")
    for io in ("external", "resident"):
        words = ("--request", "4", "--io", io)
        vbslab("report", "rows.csv", *words, "-o", "rows.html")
        show(driver, "rows.html", 1400)
        choose(driver, 0, "dp-vbs+")
        # There are more breakpoints than the page has plans: at its own budgets both agree.
        budgets = driver.execute_script(
            "return state.profile.planners[state.planners[0]].list.filter(p => p.n_steps).map(p => p.memory_bytes)")
        wrong = []
        for budget in sorted({budgets[i * (len(budgets) - 1) // 5] for i in range(6)}):
            wrong += compare_budget(driver, "rows.csv", words, "dp-vbs+", budget, True)
        check("by rows, io " + io + ": plans, memory and the clock", not wrong, wrong)
        slide(driver, budgets[0])
        rows = driver.execute_script("return stepsOf(state.profile, planAt(state.profile.planners[state.planners[0]], state.budget))"
                                     ".filter(s => s.kind.rows && s.kind.rows < state.profile.tensors[s.kind.layer].rows).length")
        check("the least plan computes some layers by rows", rows > 20, rows)
        keep(driver, "rows-" + io + "-1400", 1400)
        quiet(driver, "rows, io " + io)


def walk(driver, key, n):
    """Presses a key n times on the slider of the decisions, and gives the texts."""
    slider, texts = driver.find_element(By.ID, "walk"), []
    for _ in range(n):
        slider.send_keys(key)
        texts.append(driver.find_element(By.ID, "walk-text").text)
    return texts


def test_explain(driver):
    words = ("explain", "vbs-example", "--planner", "dp-vbs", "--request", "2", "--memory", "7")
    vbslab(*words, "--table", "1", "--html", "table.html")
    show(driver, "table.html", 1400)
    steps = vbslab(*words, "--table", "1", "--step").split("\n\nlayer")
    first = driver.find_element(By.ID, "walk-text").text
    texts = [first] + walk(driver, Keys.ARROW_RIGHT, len(steps) - 2) # before the first decision there is a title
    check("the slider goes through the decisions of --step", len(set(texts)) == len(texts) and
          driver.find_element(By.ID, "walk").get_attribute("max") == str(len(texts)), (len(steps), texts))
    walk(driver, Keys.HOME, 1)
    rows = driver.execute_script("return [...document.querySelectorAll('#weighed tbody tr')].map(r => r.textContent)")
    check("candidates have their times", len(rows) == 2 and "20.00 us" in rows[0] and "chosen" in rows[0] and "+20.00%" in rows[1], rows)
    check_cells(driver, words)
    keep(driver, "table-1400", 1400)
    quiet(driver, "a table")
    vbslab("explain", GOOGLENET, "--planner", "dp-vbs+", "--memory", "20MiB", "--html", "explain.html")
    show(driver, "explain.html", 1400)
    walk(driver, Keys.ARROW_RIGHT, 3)
    made = json.loads(vbslab("explain", GOOGLENET, "--planner", "dp-vbs+", "--memory", "20MiB", "--json", "-"))
    same = driver.execute_script("return JSON.stringify(originalJson()) === JSON.stringify(JSON.parse(arguments[0]))", json.dumps(made))
    check("the page has the explanation of --json", same)
    leaves = driver.execute_script("goTo(walk.list.length - 1); return d3.merge(decisions.map(stepsOf)).map(s => [s.first_layer, s.from, s.samples])")
    plan = json.loads(vbslab("plan", GOOGLENET, "--planner", "dp-vbs+", "--memory", "20MiB", "--json", "-"))
    done, steps = {}, []
    for step in plan["steps"]:
        steps.append([step["layer"], done.get(step["layer"], 0), step["batch"]])
        done[step["layer"]] = steps[-1][1] + step["batch"]
    check("the steps of its picture are those of the plan", leaves == steps, (leaves[:20], steps[:20]))
    keep(driver, "explain-1400", 1400)
    quiet(driver, "an explanation")
    show(driver, "explain.html", 400)
    wide = driver.execute_script("return document.documentElement.scrollWidth")
    check("an explanation is no wider than a phone", wide <= 400, wide)
    keep(driver, "explain-400", 400)
    vbslab("explain", GOOGLENET, "--planner", "fbs", "--memory", "44MiB", "--html", "other.html")
    show(driver, "other.html", 1400)
    text, rows = driver.find_element(By.ID, "walk-text").text, driver.find_element(By.ID, "weighed").text
    check("a faster batch that is not the largest is told from equal ones", "Next best: batch 6 -1.24%" in text and "batch 6 81.34 ms -1.24%" in rows, (text, rows))
    for planner, words in (("fbs", ()), ("optimal", ("--node-limit", "300")), ("joint", ("--weights", "included"))):
        vbslab("explain", ALEXNET if words[:1] == ("--weights",) else GOOGLENET, "--planner", planner, "--memory", "40MiB", *words, "--html", "other.html")
        show(driver, "other.html", 1400)
        tables = driver.execute_script("return [...document.querySelectorAll('main section:not([hidden]) table')].length")
        check("an explanation of " + planner + " has a table", tables > 0, tables)
        quiet(driver, planner)


def check_cells(driver, words):
    """The cells on the page are those of the CSV, and fill as the slider moves."""
    rows = list(csv.DictReader(vbslab(*words, "--table", "1", "--csv", "-").splitlines()))
    want = {(int(r["first_layer"]), int(r["last_layer"]), int(r["samples"]), int(r["memory_bytes"])): r["opt_us"] for r in rows}
    cells = driver.execute_script("return table.list.map(c => [c.first_layer, c.last_layer, c.samples, c.memory_bytes, c.opt_us])")
    wrong = [cell for cell in cells if (float(want[tuple(cell[:4])]) if want[tuple(cell[:4])] else None) != cell[4]]
    check("the cells are those of the CSV", len(cells) == len(rows) and not wrong, wrong[:5])
    driver.find_element(By.ID, "cell").send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * 4)
    filled = driver.execute_script("return [...document.querySelectorAll('#cells td.cell')].map(c => c.textContent !== '')")
    check("cells are filled as far as the slider", filled == [True] * 5 + [False] * (len(cells) - 5), filled[:10])
    driver.find_element(By.ID, "cell").send_keys(Keys.END)
    check("the last one is the whole problem", "OPT is 20.00 us" in driver.find_element(By.ID, "cell-text").text, driver.find_element(By.ID, "cell-text").text)


def test_names(driver):
    evil = ["</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=2>", "\"quotes' & <b>bold</b>"]
    with open("names.csv", "w", encoding="utf-8", newline="") as file:
        file.write("# model: " + json.dumps(evil[2]) + "\n")
        out = csv.writer(file, lineterminator="\n")
        out.writerow("layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place".split(","))
        for layer, name in enumerate(evil, 1):
            out.writerow([layer, name, "conv", layer - 1, 1, evil[0], 4, 1000, 1000, 10, 0, 0])
    vbslab("report", "names.csv", "names.csv", "-o", "names.html")
    show(driver, "names.html", 1000)
    open_tables(driver)
    hacked = driver.execute_script("return window.hacked || document.querySelectorAll('img, b, main script').length")
    check("names are not run", not hacked, hacked)
    text = driver.find_element(By.TAG_NAME, "body").text
    check("names are shown as they are", evil[2] in text and evil[0] in text, text)
    fields = [["=1+1"], ["@a"], ["-a"], ["+a"], ["a;=b"], ["\t=a"], ["a=b-c"], ["-"], [-1.5]]
    want = ["'=1+1", "'@a", "'-a", "'+a", "a;'=b", "'\t'=a", "a=b-c", "-", "-1.5"]
    saved = driver.execute_script("return csvText(['name'], arguments[0])", fields)
    check("a table that is saved has no formulas", saved == "".join(field + "\n" for field in ["name"] + want), repr(saved))
    quiet(driver, "names")
    hidden = "\u202eturned\u2028\u0085"
    with open("hidden.csv", "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        file.write("# model: \"" + hidden + "\"\n")
        out.writerow("layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place".split(","))
        out.writerow([1, hidden, "conv", 0, 1, hidden, 4, 1000, 1000, 10, 0, 0])
    vbslab("report", "hidden.csv", "-o", "names.html")
    vbslab("explain", "hidden.csv", "--request", "2", "--memory", "10KB", "--planner", "dp-vbs", "--html", "explain.html")
    for page in ("names.html", "explain.html"):
        show(driver, page, 1000)
        open_tables(driver)
        text = driver.find_element(By.TAG_NAME, "body").text + driver.title
        check("characters that turn text are visible in " + page, not any(c in text for c in hidden[:1] + hidden[-2:]) and "\\xe2\\x80\\xaeturned" in text, text)
    quiet(driver, "names that turn text")
    vbslab("explain", "names.csv", "--request", "2", "--memory", "10KB", "--html", "names.html")
    show(driver, "names.html", 1000)
    open_tables(driver)
    walk(driver, Keys.END, 1)
    hacked = driver.execute_script("return window.hacked || document.querySelectorAll('img, b, main script').length")
    text = driver.find_element(By.TAG_NAME, "body").text
    check("names of an explanation are shown, not run", not hacked and evil[0] in text, text)
    quiet(driver, "names of an explanation")


def test_deep(driver):
    with open("deep.csv", "w", encoding="utf-8") as file:
        file.write("layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place\n")
        for k in range(1, 3001):
            for b in (1, 2, 4):
                file.write("%d,L%d,conv,%d,%d,a,%d,%d,%d,%d,0,0\n" % (k, k, k - 1, b, 2 + 2 * b + k % 7, 64 * b, 64 * b, k % 13 * 16 * b))
    vbslab("report", "deep.csv", "--request", "4", "--baselines", "fbs,fbs-best", "--planners", "dp-vbs", "-o", "deep.html")
    show(driver, "deep.html", 1400)
    text = driver.find_element(By.TAG_NAME, "body").text
    check("3000 layers are summarised, and the page says so", "layers is drawn" in text and "left out" in text, text[-3000:])
    marks = driver.execute_script("return document.querySelectorAll('svg rect').length")
    check("the page draws no more than it can", marks < 40000, marks)
    choose(driver, 0, "fbs")
    driver.find_element(By.ID, "slider").send_keys(Keys.END)
    covered = driver.execute_script("""
        const svg = document.querySelector('.rectangles svg');
        return [svg.querySelectorAll('rect').length, d3.sum([...svg.querySelectorAll('.cuts line')], l => Number(l.getAttribute('stroke-width'))) / svg.clientWidth];""")
    check("lines of 2999 cuts do not hide the rectangles between them", covered[0] == 3000 and covered[1] < 0.5, covered)
    keep(driver, "deep-1400", 1400)
    quiet(driver, "3000 layers")
    vbslab("explain", "deep.csv", "--request", "4", "--memory", "1MiB", "--planner", "greedy-vbs", "--html", "deep.html")
    show(driver, "deep.html", 1400)
    walk(driver, Keys.END, 1)
    text = driver.find_element(By.TAG_NAME, "body").text
    check("3000 decisions are walked, and their table is cut", "Decision 3001 of 3001" in text and "the first 1000 of them" in text, text[:2000])
    quiet(driver, "3000 decisions")


def test_noise(driver):
    header = "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place"
    rows = ["1,L1,conv,0,1,default,4,1,1,1,0,0", "1,L1,conv,0,2,default,6,2,2,2,0,0"]
    for half, noisy in ((2, False), (20, True)):
        with open("noisy.csv", "w", encoding="utf-8") as file:
            print(header + ",mad_us,low_us,high_us,n_runs", file=file)
            for row in rows:
                time = float(row.split(",")[6])
                print(row, 0.1, time * (1 - half / 100), time * (1 + half / 100), 9, sep=",", file=file)
        vbslab("report", "noisy.csv", "--request", "2", "-o", "noisy.html")
        show(driver, "noisy.html", 1000)
        element = driver.find_element(By.ID, "noise")
        check("a noisy profile is named at the head, another is not (%d%%)" % half,
              element.is_displayed() == noisy and ("within 20% only" in element.text) == noisy, element.text)
        quiet(driver, "noise of %d%%" % half)


def test_many(driver):
    vbslab("report", *["vbs-example"] * 100, "--request", "2", "--planners", "dp-vbs", "--baselines", "fbs", "-o", "many.html")
    show(driver, "many.html", 1000)
    driver.execute_script("const s = document.getElementById('profile'); s.selectedIndex = 99; s.dispatchEvent(new Event('change'))")
    options = driver.execute_script("return document.getElementById('profile').options.length")
    shown = driver.execute_script("return report.profiles.indexOf(state.profile)")
    check("each of 100 profiles can be chosen", (options, shown) == (100, 99), (options, shown))
    quiet(driver, "100 profiles")


def test_lessons(driver):
    vbslab("lesson", "--html", "-o", "course")
    titles, wide, dim = [], [], []
    for width, scheme in ((1400, "light"), (400, "dark")):
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        show(driver, "course/index.html", width)
        driver.find_element(By.PARTIAL_LINK_TEXT, "1. Why batches").click()
        while True:
            titles.append(driver.find_element(By.TAG_NAME, "h1").text[:2])
            wide += driver.execute_script("return document.documentElement.scrollWidth > arguments[0] ? [document.title] : []", width)
            dim.append(driver.execute_script("return [...document.images].every(i => (getComputedStyle(i).filter === 'none') === arguments[0])", scheme == "light"))
            keep(driver, "lesson-" + titles[-1][0] + "-%d" % width, width)
            following = driver.find_elements(By.CSS_SELECTOR, "nav a[rel=next]")
            if not following:
                break
            following[0].click()
    check("links lead from the list through all lessons", titles == ["%d." % i for i in range(1, 8)] * 2, titles)
    check("no lesson is wider than a phone", not wide, wide)
    check("pictures are dark on dark pages only", all(dim), dim)
    driver.find_element(By.CSS_SELECTOR, "nav a[rel=prev]").click()
    check("and back", driver.find_element(By.TAG_NAME, "h1").text.startswith("6."))
    driver.find_element(By.LINK_TEXT, "All lessons").click()
    check("and to the list", len(driver.find_elements(By.CSS_SELECTOR, ".lessons a")) == 7)
    silent(driver, "lessons")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def main():
    driver = begin()
    try:
        for test in (test_googlenet, test_small, test_weights, test_beside, test_rows, test_explain, test_names, test_lessons, test_noise, test_many, test_deep):
            test(driver)
    finally:
        driver.quit()
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
