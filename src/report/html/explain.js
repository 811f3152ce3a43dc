"use strict";
/*
 * The page of `vbslab explain --html` (docs/explain.md). "explanation" is the JSON of
 * `vbslab explain --json`; "shown" has for each decision what the terminal's tables call it and its
 * candidates, where the tree shows it, and the curve of its part.
 */

const made = pageData.explanation, decisions = made.decisions || [], shown = pageData.shown;
const walk = {list: [], places: new Map(), steps: [], at: 0, timer: 0};
const table = {parts: [], part: 0, list: [], at: 0, timer: 0};

function isFaster(a, b) {
    return a < b && !(Math.abs(a - b) <= 1e-9 * Math.abs(b));
}

function isEqual(a, b) {
    return !isFaster(a, b) && !isFaster(b, a);
}

function layerName(k) {
    return k + " " + (pageData.layers[k - 1] || "layer");
}

function chosenOf(decision) {
    return decision.chosen === null ? null : decision.candidates[decision.chosen];
}

// ---- Where each decision lies ----

// Gives each decision the first samples of its part, several where the part is repeated: the parts of a split and
// chunks have their samples one after another; all other parts have the samples of the decision above.
function placeDecisions() {
    const taken = decisions.map(() => 0), n = decisions.map(() => 0);
    for (const decision of decisions) {
        const above = decision.parent === null ? null : decisions[decision.parent], how = above && chosenOf(above);
        const part = how && how.parts[n[decision.parent]++], times = part ? part.times : 1;
        decision.froms = above ? above.froms : [0];
        if (how && (how.choice === "split" || how.choice === "chunk")) {
            const before = taken[decision.parent];
            decision.froms = decision.froms.map(from => from + before);
            taken[decision.parent] += decision.samples;
        } else if (times > 1) {
            decision.froms = d3.merge(decision.froms.map(from => d3.range(times).map(i => from + i * decision.samples)));
        }
        decision.from = decision.froms[0];
    }
}

// Gives the steps that a decision settles, as parts of the work: one, or those of a batch.
function stepsOf(decision) {
    const chosen = chosenOf(decision);
    if (!chosen || !["step", "batch", "rows"].includes(chosen.choice)) return [];
    const size = chosen.choice === "batch" ? chosen.at : decision.samples;
    return d3.merge(decision.froms.map(from => d3.range(0, decision.samples, size).map(first => ({first_layer: decision.first_layer,
        last_layer: decision.last_layer, from: from + first, samples: Math.min(size, decision.samples - first),
        time_us: chosen.choice === "batch" ? null : decision.time_us, by_rows: chosen.choice === "rows"}))));
}

// ---- One decision ----

// Orders candidates as the terminal's table: those that fit by time, then the others by memory; the chosen one
// first of equal ones.
function rank(decision) {
    return decision.candidates.map((candidate, place) => ({candidate, place, isChosen: place === decision.chosen})).sort((a, b) => {
        const p = a.candidate, q = b.candidate;
        if (p.fits !== q.fits) return p.fits ? -1 : 1;
        if (!p.fits && p.least_bytes !== q.least_bytes) return (p.least_bytes === null ? Infinity : p.least_bytes) - (q.least_bytes === null ? Infinity : q.least_bytes);
        if (p.fits && isFaster(p.time_us, q.time_us)) return -1;
        if (p.fits && isFaster(q.time_us, p.time_us)) return 1;
        return a.isChosen !== b.isChosen ? (a.isChosen ? -1 : 1) : a.place - b.place;
    });
}

function againstText(decision, candidate, place) {
    if (place === decision.chosen) return "chosen";
    if (!candidate.fits) return "does not fit";
    return isEqual(candidate.time_us, decision.time_us) ? "equal" : percentText(100 * (candidate.time_us / decision.time_us - 1));
}

function needsText(candidate) {
    return candidate.least_bytes === null ? "none found" : bytesText(candidate.needed_bytes);
}

function partsText(candidate) {
    return candidate.parts.map(part => (part.times > 1 ? part.times + " x " : "") + (part.time_us === null ? "?" : timeText(part.time_us))).join(" + ");
}

// Gives the best candidate that lost, in words: as the terminal's tree.
function runnerUp(d) {
    const decision = decisions[d];
    let best = null, near = null, equal = 0;
    decision.candidates.forEach((candidate, place) => {
        if (place === decision.chosen) return;
        const one = {candidate, label: shown[d].labels[place]};
        if (!candidate.fits) {
            if (!near || (candidate.least_bytes !== null && (near.candidate.least_bytes === null || candidate.least_bytes < near.candidate.least_bytes))) near = one;
        } else if (isEqual(candidate.time_us, decision.time_us)) {
            equal++;
        } else if (!best || candidate.time_us < best.candidate.time_us) {
            best = one;
        }
    });
    const next = best || near, words = equal ? [equal + " equal"] : [];
    if (best) words.push(best.label + " " + percentText(100 * (best.candidate.time_us / decision.time_us - 1)));
    else if (next) words.push(next.candidate.least_bytes === null ? "no other fits" : next.label + " needs " + bytesText(next.candidate.least_bytes));
    return words.join("; ") || "-";
}

function chosenText(d) {
    const decision = decisions[d];
    return decision.chosen !== null ? shown[d].labels[decision.chosen] : decision.candidates.length ? "nothing fits" : "layer by layer";
}

function partText(d) {
    const decision = decisions[d];
    return (decision.layers === 1 ? "layer " + layerName(decision.first_layer) : "layers " + shown[d].layers) + ", " + plural(decision.samples, "sample") +
        (decision.exact ? " at once" : "") + ", in " + exactText(decision.memory_bytes);
}

// Says why the next larger batch was not taken, for planners with one batch for all steps of a layer.
function batchText(decision) {
    const chosen = chosenOf(decision), next = decision.chosen > 0 ? decision.candidates[decision.chosen - 1] : null;
    if (!chosen || chosen.choice !== "batch") return "";
    if (!next) return " Batch " + chosen.at + " is the largest that the profile and the request have.";
    if (next.fits) return " Batch " + next.at + " fits, too, and takes " + (100 * (next.time_us / chosen.time_us - 1)).toFixed(2) + "% longer than batch " + chosen.at + ".";
    if (next.least_bytes === null) return " Batch " + next.at + " keeps the latency in no memory.";
    return " Batch " + next.at + " would need " + bytesText(next.least_bytes) + ", " + bytesText(next.least_bytes - decision.memory_bytes) + " more than there is" +
        (next.binds ? ", at layer " + layerName(next.binds) : "") + ".";
}

function decisionText(d) {
    const decision = decisions[d];
    return "Decision " + (walk.at + 1) + " of " + walk.list.length + ": " + partText(d) + ". " +
        (decision.chosen === null ? (decision.candidates.length ? "Nothing fits." : "It is decided layer by layer.") :
            "Chosen: " + chosenText(d) + ", " + timeText(decision.time_us) + ". Next best: " + runnerUp(d) + ".") + batchText(decision);
}

// ---- Walking ----

function goTo(at) {
    walk.at = Math.max(0, Math.min(walk.list.length - 1, at));
    drawDecision();
}

function drawDecision() {
    const d = walk.list[walk.at], text = decisionText(d);
    d3.select("#walk").property("value", walk.at + 1).attr("aria-valuetext", text);
    d3.select("#walk-text").text(text);
    d3.select("#walk-before").property("disabled", walk.at === 0);
    d3.select("#walk-after").property("disabled", walk.at === walk.list.length - 1);
    d3.select("#walk-up").property("disabled", decisions[d].parent === null);
    drawSchedule(d);
    drawCandidates(d);
    drawWeighed(d);
    drawPart(d);
    d3.selectAll("#tree tr[data-decision]").attr("aria-current", function () {
        if (Number(this.dataset.decision) !== d) return null;
        bringIntoView(document.getElementById("tree"), this);
        return "step";
    });
}

// Scrolls a box, and not the page, until an element in it is seen.
function bringIntoView(box, element) {
    const outer = box.getBoundingClientRect(), inner = element.getBoundingClientRect(), head = 26;
    if (inner.top < outer.top + head) box.scrollTop -= outer.top + head - inner.top;
    else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom;
    if (inner.width > outer.width) return;
    if (inner.left < outer.left) box.scrollLeft -= outer.left - inner.left;
    else if (inner.right > outer.right) box.scrollLeft += inner.right - outer.right;
}

// Leads to the decision above, or to the one that stands for it.
function goUp() {
    let d = decisions[walk.list[walk.at]].parent;
    while (d !== null && !walk.places.has(d)) d = decisions[d].parent;
    if (d !== null) goTo(walk.places.get(d));
}

// ---- The picture of the schedule: layers across, samples down ----

// The place of each layer in the order in which the planner runs them, both from 1 on.
const places = [];
(made.order || []).forEach((layer, place) => places[layer] = place + 1);

function drawSchedule(d) {
    const box = d3.select("#schedule"), whole = decisions[0], current = decisions[d];
    const first = d3.min(decisions, one => places[one.first_layer]), last = d3.max(decisions, one => places[one.last_layer]);
    box.selectAll("*").remove();
    const margin = {left: 36, right: 14, top: 18, bottom: 34}, picture = addPicture(box, "decided", "What is decided so far", 260), {svg, width, height} = picture;
    const x = d3.scaleLinear().domain([first - 0.5, last + 0.5]).range([margin.left, width - margin.right]);
    const y = d3.scaleLinear().domain([0, whole.samples]).range([margin.top, height - margin.bottom]);
    const next = walk.at + 1 < walk.list.length ? walk.list[walk.at + 1] : decisions.length;
    const done = decisions.slice(0, Math.max(next, d + 1)).filter(one => one.chosen !== null);
    const leaves = d3.merge(done.map(stepsOf)), all = walk.steps.slice(0, MOST_MARKS);
    const colour = d3.scaleSequential(d3.interpolateViridis).domain([0, Math.max(1, all.length - 1)]);
    addAxes(picture, d3.axisBottom(x).ticks(Math.min(last - first + 1, width / 60)).tickFormat(place => made.order[place - 1]),
        d3.axisLeft(y).ticks(Math.min(whole.samples, 6)).tickFormat(d3.format("d")), "layer", "sample", margin);
    const low = one => places[one.first_layer] - 0.5, high = one => places[one.last_layer] + 0.5;
    const place = marks => marks.attr("x", one => x(low(one))).attr("width", one => x(high(one)) - x(low(one)))
        .attr("y", one => y(one.from)).attr("height", one => y(one.from + one.samples) - y(one.from));
    const pieces = svg.append("g").selectAll("rect").data(all).enter().append("rect")
        .attr("class", (one, i) => i < leaves.length ? "piece" : "piece later").attr("fill", (one, i) => colour(i));
    place(pieces);
    addTip(pieces, one => (one.first_layer === one.last_layer ? layerName(one.first_layer) : "layers " + one.first_layer + ".." + one.last_layer) +
        " on " + plural(one.samples, "sample") + (one.by_rows ? ", by rows" : "") + (one.time_us === null ? "" : "\n" + timeText(one.time_us)));
    const cuts = done.filter(one => !["step", "batch", "block", "rows"].includes(chosenOf(one).choice)).slice(-MOST_MARKS);
    place(svg.append("g").attr("class", "frames").selectAll("rect").data(cuts).enter().append("rect"));
    place(svg.append("g").attr("class", "selected").selectAll("rect").data([current]).enter().append("rect"));
    note(picture, "Strong: steps that are decided, dark ones run first; faint: those to come. Framed: this decision's part." +
        (made.order.some((layer, place) => layer !== place + 1) ? " Layers stand in the order in which they run: branches one after the other." : "") +
        (walk.steps.length > MOST_MARKS ? " Only the first " + MOST_MARKS + " of " + walk.steps.length + " steps are drawn." : ""));
    addTable(picture.figure, "vbslab-decided", () => ({caption: "Steps that are decided", columns: ["first_layer", "last_layer", "name", "first_sample", "samples", "time_us"],
        rows: leaves.map(one => [one.first_layer, one.last_layer, one.first_layer === one.last_layer ? pageData.layers[one.first_layer - 1] : "", one.from + 1, one.samples, one.time_us])}));
}

// ---- The picture of the candidates: memory across, time up ----

function drawCandidates(d) {
    const box = d3.select("#candidates"), decision = decisions[d];
    box.selectAll("*").remove();
    const list = rank(decision).filter(one => one.candidate.time_us !== null && one.candidate.needed_bytes !== null).slice(0, MOST_MARKS);
    if (!list.length) return;
    const margin = {left: 52, right: 14, top: 18, bottom: 34}, picture = addPicture(box, "candidates", "The candidates", 260), {svg, width, height} = picture;
    const needs = list.map(one => one.candidate.needed_bytes).concat(decision.memory_bytes), unit = unitOf(d3.max(needs));
    const x = d3.scaleLinear().domain(axisEnds(d3.min(needs) / unit.size, d3.max(needs) / unit.size)).range([margin.left, width - margin.right]);
    const times = list.map(one => one.candidate.time_us), scale = timeUnitOf(d3.max(times));
    const y = d3.scaleLinear().domain(axisEnds(d3.min(times) / scale.size, d3.max(times) / scale.size)).range([height - margin.bottom, margin.top]);
    addAxes(picture, d3.axisBottom(x).ticks(width / 90), d3.axisLeft(y).ticks(6), "needs, " + unit.name, "time, " + scale.name, margin);
    const budget = x(decision.memory_bytes / unit.size);
    svg.append("line").attr("class", "budget").attr("x1", budget).attr("x2", budget).attr("y1", margin.top).attr("y2", height - margin.bottom);
    const marks = svg.append("g").selectAll("circle").data(list.slice().reverse()).enter().append("circle")
        .attr("class", one => one.isChosen ? "candidate chosen" : one.candidate.fits ? "candidate" : "candidate out")
        .attr("r", one => one.isChosen ? 6.5 : 4.5).attr("cx", one => x(one.candidate.needed_bytes / unit.size)).attr("cy", one => y(one.candidate.time_us / scale.size));
    addTip(marks, one => shown[d].labels[one.place] + "\n" + timeText(one.candidate.time_us) + ", needs " + needsText(one.candidate) + "\n" + againstText(decision, one.candidate, one.place));
    note(picture, "Full: chosen. Open: lost. Beyond the dashed line: does not fit.");
    addTable(picture.figure, "vbslab-candidates", () => candidateTable(d));
}

function candidateTable(d) {
    const decision = decisions[d];
    return {caption: "Candidates of " + partText(d), columns: ["candidate", "parts", "time_us", "against", "least_bytes", "needed_bytes"],
        rows: rank(decision).map(one => [shown[d].labels[one.place], partsText(one.candidate), one.candidate.time_us, againstText(decision, one.candidate, one.place),
            one.candidate.least_bytes, one.candidate.needed_bytes])};
}

function drawWeighed(d) {
    const box = d3.select("#weighed"), decision = decisions[d], list = rank(decision), hasParts = decision.candidates.some(c => c.parts.length > 1);
    box.selectAll("*").remove();
    if (!list.length) return;
    drawTable(box, "What was weighed for " + partText(d), ["candidate"].concat(hasParts ? ["parts"] : [], ["time", "against", "needs"]), list.map(one => {
        const {candidate, place, isChosen} = one, cell = (text, title) => ({text, title, strong: isChosen});
        return [cell(shown[d].labels[place], candidate.algorithm)].concat(hasParts ? [cell(partsText(candidate) || "-")] : [],
            [cell(candidate.time_us === null ? "-" : timeText(candidate.time_us), candidate.time_us === null ? null : candidate.time_us + " us"),
                cell(againstText(decision, candidate, place)), cell(needsText(candidate), candidate.needed_bytes === null ? null : candidate.needed_bytes + " bytes")]);
    }));
}

// ---- The curve of a part ----

function curveOf(d) {
    const curve = shown[d].curve || [];
    return d3.range(0, curve.length, 2).map(i => ({memory_bytes: curve[i], time_us: curve[i + 1]}));
}

function drawPart(d) {
    const box = d3.select("#curve"), decision = decisions[d], points = curveOf(d);
    box.selectAll("*").remove();
    if (!points.length) return;
    const margin = {left: 52, right: 14, top: 18, bottom: 34}, picture = addPicture(box, "part", "Time of this part against memory", 220), {svg, width, height} = picture;
    const end = 1.05 * Math.max(points[points.length - 1].memory_bytes, decision.memory_bytes), unit = unitOf(end);
    const x = d3.scaleLinear().domain([0.95 * Math.min(points[0].memory_bytes, decision.memory_bytes) / unit.size, end / unit.size]).range([margin.left, width - margin.right]);
    const scale = timeUnitOf(points[0].time_us);
    const y = d3.scaleLinear().domain(axisEnds(points[points.length - 1].time_us / scale.size, points[0].time_us / scale.size)).range([height - margin.bottom, margin.top]);
    addAxes(picture, d3.axisBottom(x).ticks(width / 90), d3.axisLeft(y).ticks(5), "memory, " + unit.name, "time, " + scale.name, margin);
    const corners = points.concat({memory_bytes: end, time_us: points[points.length - 1].time_us});
    svg.append("path").attr("class", "planner chosen").attr("stroke", "var(--live)").attr("d", d3.line().curve(d3.curveStepAfter)
        .x(p => x(p.memory_bytes / unit.size)).y(p => y(p.time_us / scale.size))(corners));
    const here = x(decision.memory_bytes / unit.size);
    svg.append("line").attr("class", "budget").attr("x1", here).attr("x2", here).attr("y1", margin.top).attr("y2", height - margin.bottom);
    note(picture, plural(shown[d].points, "point") + (points.length < shown[d].points ? ", of which " + points.length + " are in this page" : "") + ". Dashed: the memory of this decision.");
    addTable(picture.figure, "vbslab-curve", () => ({caption: "Time against memory of " + partText(d), columns: ["memory_bytes", "time_us"],
        rows: points.map(p => [p.memory_bytes, p.time_us])}));
}

// ---- The tree ----

function treeRows() {
    return decisions.map((decision, d) => ({decision, d})).filter(({d}) => !shown[d].hidden).map(({decision, d}) => ({d, columns: [
        shown[d].level, (shown[d].rest ? "then " : "") + (decision.layers === 1 ? layerName(decision.first_layer) : shown[d].layers), decision.samples, decision.memory_bytes,
        decision.time_us, shown[d].again ? "as above" : chosenText(d), shown[d].again ? "" : runnerUp(d)]}));
}

function drawTree() {
    const box = d3.select("#tree"), rows = treeRows(), list = rows.slice(0, MOST_ROWS), drawn = box.append("table");
    drawn.append("caption").text(plural(rows.length, "decision") + (rows.length > list.length ? ": the first " + list.length + " of them; the CSV has all" : ""));
    drawn.append("thead").append("tr").selectAll("th").data(["decision", "layers", "b", "memory", "time", "chosen", "next best"]).enter().append("th").attr("scope", "col").text(text => text);
    const lines = drawn.append("tbody").selectAll("tr").data(list).enter().append("tr").attr("data-decision", row => row.d);
    lines.append("td").each(function (row) {
        const at = walk.places.get(row.d);
        if (at === undefined) return;
        d3.select(this).append("button").attr("type", "button").attr("aria-label", "Go to decision " + (at + 1)).text(at + 1)
            .on("click", () => { goTo(at); document.getElementById("walk").focus(); });
    });
    lines.append("th").attr("scope", "row").style("padding-left", row => 1.1 * Math.min(row.columns[0], 24) + "em").text(row => row.columns[1]);
    const texts = row => [row.columns[2], bytesText(row.columns[3]), row.columns[4] === null ? "-" : timeText(row.columns[4]), row.columns[5], row.columns[6]];
    lines.selectAll("td.value").data(texts).enter().append("td").attr("class", "value").text(text => text);
    d3.select("#save-tree").on("click", () => save("vbslab-decisions.csv", "text/csv",
        csvText(["level", "layers", "samples", "memory_bytes", "time_us", "chosen", "next_best"], rows.map(row => row.columns))));
    d3.select("#save-json").on("click", () => save("vbslab-explanation.json", "application/json", JSON.stringify(originalJson(), null, 1) + "\n"));
}

// The explanation as it came, without what this page added to its decisions.
function originalJson() {
    return Object.assign({}, made, {decisions: decisions.map(decision => { const copy = Object.assign({}, decision); delete copy.from; delete copy.froms; return copy; })});
}

// ---- The cells of a table ----

function cellsOf(key) {
    return made.cells.filter(cell => cell.first_layer + ".." + cell.last_layer === key);
}

// Shows small tables whole, larger ones part by part. The algorithm fills short chains first, of these those
// with few samples, and of these those with little memory.
function prepareCells() {
    const byLength = (a, b) => a.last_layer - a.first_layer - (b.last_layer - b.first_layer) || a.first_layer - b.first_layer || a.samples - b.samples || a.memory_bytes - b.memory_bytes;
    made.cells.sort(byLength);
    table.parts = Array.from(new Set(made.cells.map(cell => cell.first_layer + ".." + cell.last_layer)));
    table.isWhole = made.cells.length <= 1500;
    d3.select("#cells-part").selectAll("option").data(table.isWhole ? ["all"] : table.parts).enter().append("option").text(text => text);
    d3.select("#cells-part").property("selectedIndex", table.isWhole ? 0 : table.parts.length - 1).on("change", function () { chooseCells(this.selectedIndex); });
    d3.select("#cells-about").text("OPT is the least time of some samples on some layers in some memory; its b1 says how many samples pass all of these layers first. " +
        "EXACT is the same where one of the layers runs all samples at once, the pivot. A cell has OPT and, where it is another time, EXACT behind a stroke; a dot is memory in which nothing fits. " +
        "Cells are filled in this order: few layers, few samples, little memory." + (table.isWhole ? "" : " " + d3.format(",")(made.cells.length) + " cells are too many for one picture: choose layers."));
    chooseCells(table.isWhole ? -1 : table.parts.length - 1);
}

function chooseCells(part) {
    const list = part < 0 ? made.cells : cellsOf(table.parts[part]);
    const memories = Array.from(new Set(list.map(cell => cell.memory_bytes))).sort((a, b) => a - b), rows = d3.nest().key(cell => cell.first_layer + ".." + cell.last_layer + " " + cell.samples).entries(list);
    // Of wide tables the columns at which nothing falls are left out.
    const falls = new Set(memories.length > 60 ? d3.merge(rows.map(row => row.values.filter((cell, i) => i === 0 || cell.opt_us !== row.values[i - 1].opt_us || cell.exact_us !== row.values[i - 1].exact_us).map(cell => cell.memory_bytes))) : memories);
    table.columns = memories.filter(memory => falls.has(memory)).slice(0, 400);
    table.leftOut = memories.length - table.columns.length;
    const kept = new Set(table.columns);
    table.rows = rows.map(row => ({cells: row.values.filter(cell => kept.has(cell.memory_bytes))}));
    table.list = d3.merge(table.rows.map(row => row.cells));
    table.indexes = new Map(table.list.map((cell, i) => [cell, i]));
    d3.select("#cell").attr("max", table.list.length);
    drawCells();
    goToCell(table.list.length - 1);
}

function cellText(cell) {
    if (cell.opt_us === null) return "\u00b7";
    const number = us => digits(us, 4);
    return number(cell.opt_us) + (cell.exact_us === null || isFaster(cell.opt_us, cell.exact_us) ? " / " + (cell.exact_us === null ? "\u00b7" : number(cell.exact_us)) : "");
}

function drawCells() {
    const box = d3.select("#cells"), unit = unitOf(d3.max(table.columns));
    box.selectAll("*").remove();
    const drawn = box.append("table").attr("class", "cells");
    drawn.append("caption").text("Times in us; columns are memory in " + unit.name + (table.leftOut ? ". " + plural(table.leftOut, "column") + " at which nothing falls, or behind the first 400, " + (table.leftOut === 1 ? "is" : "are") + " left out" : ""));
    const head = drawn.append("thead").append("tr");
    head.append("th").attr("scope", "col").text("layers");
    head.append("th").attr("scope", "col").text("b");
    head.selectAll("th.memory").data(table.columns).enter().append("th").attr("scope", "col").attr("class", "memory").attr("title", memory => memory + " bytes").text(memory => String(Number((memory / unit.size).toPrecision(6))));
    const lines = drawn.append("tbody").selectAll("tr").data(table.rows).enter().append("tr");
    lines.append("th").attr("scope", "row").text(row => row.cells[0].first_layer + ".." + row.cells[0].last_layer);
    lines.append("td").text(row => row.cells[0].samples);
    lines.selectAll("td.cell").data(row => row.cells).enter().append("td").attr("class", "cell").on("click", cell => goToCell(table.indexes.get(cell)));
    table.marks = drawn.selectAll("td.cell");
    table.nodes = table.marks.nodes();
    table.filled = 0;
}

function cellWords(cell) {
    const where = plural(cell.samples, "sample") + " on " + (cell.first_layer === cell.last_layer ? "layer " + layerName(cell.first_layer) : "layers " + cell.first_layer + ".." + cell.last_layer) + " in " + exactText(cell.memory_bytes) + ": ";
    if (cell.opt_us === null) return where + "nothing fits.";
    const exact = cell.exact_us === null ? "Not all samples fit at once: EXACT has no time." : "EXACT is " + timeText(cell.exact_us) + ": layer " + layerName(cell.pivot) + " runs all samples at once.";
    return where + "OPT is " + timeText(cell.opt_us) + ", b1 is " + cell.first_samples + ": " + (cell.first_samples === cell.samples ? "no split. " :
        cell.first_samples + " of " + plural(cell.samples, "sample") + " first, then " + (cell.samples - cell.first_samples) + ". ") + exact;
}

function goToCell(at) {
    table.at = Math.max(0, Math.min(table.list.length - 1, at));
    const text = cellWords(table.list[table.at]);
    for (; table.filled <= table.at; table.filled++) table.nodes[table.filled].textContent = cellText(table.list[table.filled]);
    for (; table.filled > table.at + 1; table.filled--) table.nodes[table.filled - 1].textContent = "";
    table.marks.classed("now", (cell, i) => i === table.at);
    bringIntoView(document.getElementById("cells"), table.nodes[table.at]);
    d3.select("#cell").property("value", table.at + 1).attr("aria-valuetext", text);
    d3.select("#cell-text").text("Cell " + (table.at + 1) + " of " + table.list.length + ": " + text);
    d3.select("#cell-before").property("disabled", table.at === 0);
    d3.select("#cell-after").property("disabled", table.at === table.list.length - 1);
}

// ---- Planners without decisions ----

function drawBound() {
    const bound = made.bound, best = made.time_us, layers = pageData.layers.length;
    const groups = bound.largest_group === layers ? "bound: a search of all " + layers + " layers together" : bound.largest_group > 1 ?
        "bound: " + bound.groups + " groups of layers, the largest of " + bound.largest_group : "bound: searches that found nothing faster";
    const line = (what, us) => [what, {text: timeText(us), title: us + " us"}, percentText(100 * (us / best - 1))];
    drawTable(d3.select("#bound"), "Lower bounds of the time, and times", ["", "time", "against the schedule"],
        [line("bound: no limit of memory", bound.free_us), line("bound: each layer beside waiting samples", bound.waiting_us)]
            .concat(bound.groups > 0 ? [line(groups, bound.proven_us)] : [], [line("the schedule", best)],
                bound.cutting_us !== null ? [line("the best cutting, where the search began", bound.cutting_us)] : []));
    d3.select("#bound-text").text((pageData.gap_percent > 0 ? "Gap " + pageData.gap_percent.toFixed(2) + "%: a faster schedule is not ruled out within it. " : "Gap 0%: no schedule is faster. ") +
        (bound.states > 0 ? d3.format(",")(bound.states) + " states of the lattice were expanded." : "No state of the lattice was expanded: the bound meets the cutting."));
}

function drawWeights() {
    const clocks = made.clocks, time = us => us > 0 ? timeText(us) : "-", used = made.layers.filter(layer => layer.resident_bytes + layer.copied_bytes > 0);
    drawTable(d3.select("#weights"), "Layers with weights", ["layer", "name", "weights", "loads", "copying", "begins during", "computing waits"], used.map(layer => [layer.layer, pageData.layers[layer.layer - 1],
        bytesText(layer.resident_bytes + layer.copied_bytes), layer.loads === 0 ? "resident" : layer.loads + (layer.slices > 1 ? " in " + layer.slices + " slices" : ""), layer.loads ? time(layer.copy_us) : "-",
        layer.loads === 0 ? "-" : layer.begins_during === layer.layer ? "itself" : layer.begins_during ? layerName(layer.begins_during) : "nothing", time(layer.wait_us)]));
    d3.select("#weights-text").text("Computing takes " + timeText(clocks.compute_us) + ", copying " + time(clocks.copy_us) + ", both together " + timeText(made.time_us) + ". " +
        (clocks.wait_us > 1e-6 * made.time_us ? "Computing waits for copies for " + timeText(clocks.wait_us) + "." : "Computing never waits for a copy."));
}

// ---- The page ----

// Lets a button play: go one further until the end, or until it is pressed again.
function addPlay(id, state, step, count) {
    const stop = () => {
        clearInterval(state.timer);
        state.timer = 0;
        d3.select(id).attr("aria-pressed", "false").text("play");
    };
    d3.select(id).on("click", () => {
        if (state.timer) return stop();
        if (state.at >= count() - 1) step(0);
        d3.select(id).attr("aria-pressed", "true").text("stop");
        state.timer = setInterval(() => state.at >= count() - 1 ? stop() : step(state.at + 1), Math.max(40, Math.min(900, 20000 / count())));
    });
}

function startWalk() {
    placeDecisions();
    walk.steps = d3.merge(decisions.map(stepsOf));
    walk.list = d3.range(decisions.length).filter(d => !shown[d].hidden && !shown[d].again);
    walk.places = new Map(walk.list.map((d, at) => [d, at]));
    d3.select("#walk").attr("max", walk.list.length).on("input", function () { goTo(this.value - 1); });
    d3.select("#walk-before").on("click", () => goTo(walk.at - 1));
    d3.select("#walk-after").on("click", () => goTo(walk.at + 1));
    d3.select("#walk-up").on("click", goUp);
    addPlay("#walk-play", walk, goTo, () => walk.list.length);
    drawTree();
    drawDecision();
}

function startCells() {
    d3.select("#cells-section").attr("hidden", null);
    if (!made.cells) {
        d3.select("#cells-controls").attr("hidden", "");
        d3.select("#cells-about").text("The tables have " + d3.format(",")(pageData.n_cells) + " cells, too many for a page. vbslab explain --csv writes them all, and --from, --to and --samples give those of one part.");
        return;
    }
    d3.select("#cell").on("input", function () { goToCell(this.value - 1); });
    d3.select("#cell-before").on("click", () => goToCell(table.at - 1));
    d3.select("#cell-after").on("click", () => goToCell(table.at + 1));
    d3.select("#save-cells").on("click", () => save("vbslab-cells.csv", "text/csv", csvText(Object.keys(made.cells[0]), made.cells.map(cell => Object.values(cell)))));
    addPlay("#cell-play", table, goToCell, () => table.list.length);
    prepareCells();
}

function start() {
    const name = visible(made.model || "unnamed");
    d3.select("#title").text(name + ": " + visible(made.planner) + " in " + bytesText(made.memory_bytes));
    document.title = "vbslab explain: " + name;
    d3.select("#about").text(plural(made.request, "sample") + ", io " + made.io + ", weights " + made.weights + (made.time_us === null ? "; one part of it is explained" :
        "; time " + timeText(made.time_us) + ", peak " + exactText(pageData.peak_bytes)) +
        (made.weight_bytes ? "; " + exactText(made.weight_bytes) + " of weights stay in memory, and all below is about the rest" : ""));
    d3.select("#command").text(visible(pageData.command));
    d3.select("#made").text("Made by vbslab " + pageData.vbslab + ".");
    if (decisions.length) d3.selectAll("#walk-section, #tree-section").attr("hidden", null);
    if (decisions.length) startWalk();
    if (pageData.n_cells > 0) startCells();
    if (made.bound) {
        d3.select("#bound-section").attr("hidden", null);
        drawBound();
    }
    if (made.layers) {
        d3.select("#weights-section").attr("hidden", null);
        drawWeights();
    }
    let width = innerWidth;
    window.addEventListener("resize", () => {
        if (innerWidth === width) return;
        width = innerWidth;
        if (decisions.length) drawDecision();
    });
}

start();
