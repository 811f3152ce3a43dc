"""Checks pages of `vbslab report` in Chromium against what the program itself says; prints TAP.

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


def quiet(driver, name):
    """No message on the console, no request but for the page itself, no fault that the page reports."""
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
    fault = driver.find_element(By.ID, "fault")
    check(name + ": the page and the replay agree", not fault.is_displayed(), fault.text)


def keep(driver, name, width):
    height = driver.execute_script("return document.documentElement.scrollHeight")
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {
        "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
    with open(os.path.join(SCREENSHOTS, name + ".png"), "wb") as file:
        file.write(base64.b64decode(shot["data"]))


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
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


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
    for summary in driver.find_elements(By.CSS_SELECTOR, "details summary"):
        driver.execute_script("arguments[0].click()", summary)
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
    driver.execute_script("document.getElementById('save-0').click()")
    saved = driver.execute_async_script("setTimeout(arguments[0], 500)") or [f for f in os.listdir(".") if f.startswith("plan-")]
    check("a plan is saved as a file that replays",
          len(saved) == 1 and subprocess.run([VBSLAB, "replay", GOOGLENET, saved[0]], capture_output=True, check=False).returncode == 0, saved)


def test_weights(driver):
    words = ("--weights", "included")
    vbslab("report", ALEXNET, *words, "-o", "weights.html")
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
    keep(driver, "weights-1400", 1400)
    quiet(driver, "weights inside")


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
    for summary in driver.find_elements(By.CSS_SELECTOR, "details summary"):
        driver.execute_script("arguments[0].click()", summary)
    hacked = driver.execute_script("return window.hacked || document.querySelectorAll('img, b, main script').length")
    check("names are not run", not hacked, hacked)
    text = driver.find_element(By.TAG_NAME, "body").text
    check("names are shown as they are", evil[2] in text and evil[0] in text, text)
    quiet(driver, "names")


def test_deep(driver):
    with open("deep.csv", "w", encoding="utf-8") as file:
        file.write("layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place\n")
        for k in range(1, 3001):
            for b in (1, 2):
                file.write("%d,L%d,conv,%d,%d,a,%d,%d,%d,%d,0,0\n" % (k, k, k - 1, b, (4, 6)[b - 1] + k % 7, 64 * b, 64 * b, k % 13 * 16 * b))
    vbslab("report", "deep.csv", "--request", "4", "--baselines", "fbs,fbs-best", "--planners", "dp-vbs", "-o", "deep.html")
    show(driver, "deep.html", 1400)
    text = driver.find_element(By.TAG_NAME, "body").text
    check("3000 layers are summarised, and the page says so", "layers is drawn" in text and "left out" in text, text[-3000:])
    marks = driver.execute_script("return document.querySelectorAll('svg rect').length")
    check("the page draws no more than it can", marks < 40000, marks)
    keep(driver, "deep-1400", 1400)
    quiet(driver, "3000 layers")


def main():
    driver = begin()
    try:
        for test in (test_googlenet, test_weights, test_names, test_deep):
            test(driver)
    finally:
        driver.quit()
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
