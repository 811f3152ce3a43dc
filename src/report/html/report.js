"use strict";
/*
 * The page of `vbslab report`. The JSON in the element "data" (docs/report.md) has peaks, times and
 * gains as the replay gave them. What would be too much to store (the memory and the clocks of each
 * step of each plan) follows from the order of the steps. replay() computes it by the rules of
 * docs/accounting.md, and the page says so where its peak or its time differs from the replay's.
 */

const report = pageData;
const state = {profile: null, budget: 0, planners: [0, 0], steps: [null, null], figure: "per_sample_us"};

// ---- Data ----

// Undoes src/report/html/pack.c: -length, distance stands for numbers that came before.
function unpack(packed, n) {
    const list = new Int32Array(n);
    let at = 0;
    for (let i = 0; i < packed.length; i++) {
        if (packed[i] >= 0) {
            list[at++] = packed[i];
        } else {
            const distance = packed[++i];
            for (let left = -packed[i - 1]; left > 0; left--, at++)
                list[at] = list[at - distance];
        }
    }
    return list;
}

// Prepares a profile when it is first shown.
function prepare(profile) {
    if (profile.kindList) return profile;
    profile.tensors = [{name: "input", kind: "", inputs: [], out_bytes: profile.input_bytes, in_place: false}]
        .concat(profile.layers);
    profile.readers = profile.tensors.map(() => []);
    profile.layers.forEach((layer, i) => new Set(layer.inputs).forEach(k => profile.readers[k].push(i + 1)));
    profile.kindList = objects(profile.kind_columns, profile.kinds);
    profile.stepList = unpack(profile.steps, profile.n_steps);
    for (const planner of profile.planners) {
        planner.list = objects(profile.plan_columns, planner.plans);
        planner.list.forEach(plan => plan.planner = planner);
        planner.changes = planner.list.filter((plan, i) => i === 0 || !isSamePlan(profile, planner.list[i - 1], plan));
        planner.n_plans = planner.changes.filter(plan => plan.n_steps).length;
    }
    profile.bounds = findBounds(profile);
    return profile;
}

// Gives the lower bounds that the plans bring, as budgets and times: the bound of a larger budget holds
// for a smaller one, too.
function findBounds(profile) {
    const points = [];
    for (const planner of profile.planners)
        for (const plan of planner.list)
            if (plan.n_steps && plan.bound_us !== null) points.push({memory_bytes: plan.memory_bytes, time_us: plan.bound_us});
    points.sort((a, b) => b.memory_bytes - a.memory_bytes);
    let best = 0;
    for (const point of points) point.time_us = best = Math.max(best, point.time_us);
    return points.reverse();
}

// Gives the largest known lower bound of the time at a budget.
function boundAt(profile, bytes) {
    const i = d3.bisector(d => d.memory_bytes).left(profile.bounds, bytes);
    return i < profile.bounds.length ? profile.bounds[i].time_us : profile.bound_us;
}

// A planner that is planned at the budgets of the comparison may have the same plan at several of them.
function isSamePlan(profile, a, b) {
    const steps = plan => profile.stepList.subarray(plan.first_step, plan.first_step + plan.n_steps);
    return a.n_steps === b.n_steps && a.reserved_bytes === b.reserved_bytes && steps(a).every((kind, i) => kind === steps(b)[i]);
}

// Gives the number of the last of these plans that a budget has, -1 below the first one.
function indexAt(plans, bytes) {
    return d3.bisector(d => d.memory_bytes).right(plans, bytes) - 1;
}

// Gives the plan for a budget, or null.
function planAt(planner, bytes) {
    const i = indexAt(planner.list, bytes);
    return i >= 0 && planner.list[i].n_steps ? planner.list[i] : null;
}

function kindsOf(profile, plan) {
    return Array.from(profile.stepList.subarray(plan.first_step, plan.first_step + plan.n_steps), k => profile.kindList[k]);
}

// ---- Replay ----

// The state of the samples: progress of layers, freed samples of tensors and the bytes of those that are not
// freed, slices that are ahead, samples that are computed by rows.
function begin(profile) {
    const n = profile.tensors.length, resident = profile.io === "resident";
    const samples = {
        done: new Array(n).fill(0), freed: new Array(n).fill(0), slices: new Array(n).fill(null),
        runs: profile.tensors.map(() => []), begun: new Array(n).fill(0),
        counted: profile.tensors.map((t, k) => resident || (k > 0 && profile.readers[k].length > 0)),
    };
    samples.done[0] = profile.request;
    samples.live = samples.counted[0] ? profile.request * profile.input_bytes : 0;
    samples.runs[0].push({n: profile.request, bytes: profile.input_bytes});
    return samples;
}

// Takes the oldest n samples of a tensor that are not freed; gives their bytes. A sample in a window of rows has
// the bytes of the window.
function takeOldest(runs, n) {
    let bytes = 0;
    while (n > 0) {
        const taken = Math.min(n, runs[0].n);
        bytes += taken * runs[0].bytes;
        runs[0].n -= taken;
        n -= taken;
        if (runs[0].n === 0) runs.shift();
    }
    return bytes;
}

// Frees the samples of the inputs that a layer was the last to read; gives their bytes.
function release(profile, samples, layer, doneBefore) {
    const released = {first: 0, counted: 0};
    profile.tensors[layer].inputs.forEach((input, i) => {
        if (samples.freed[input] !== doneBefore) return;
        const least = Math.min(...profile.readers[input].map(k => samples.done[k]));
        const bytes = takeOldest(samples.runs[input], least - samples.freed[input]);
        samples.freed[input] = least;
        if (i === 0) released.first = bytes;
        if (samples.counted[input]) released.counted += bytes;
    });
    return released;
}

// Moves one slice of a layer on. Gives where it was, and how many samples no slice had before.
function moveSlice(samples, kind) {
    const k = kind.layer;
    let slices = samples.slices[k];
    if (!slices || (slices.length !== kind.n_slices && slices.every(done => done === samples.done[k])))
        slices = samples.slices[k] = new Array(kind.n_slices).fill(samples.done[k]);
    const furthest = Math.max(...slices), from = slices[kind.slice - 1];
    slices[kind.slice - 1] += kind.batch;
    samples.done[k] = Math.min(...slices);
    return {from, fresh: Math.max(0, slices[kind.slice - 1] - furthest)};
}

// Gives the samples of a tensor that are written, in full or in part.
function written(samples, k) {
    return (samples.slices[k] ? Math.max(...samples.slices[k]) : samples.done[k]) + samples.begun[k];
}

// Runs a step that computes some rows of its samples: with the first rows their windows begin, with the last
// rows they are finished.
function computeRows(profile, samples, kind) {
    const k = kind.layer, before = samples.done[k], live = samples.live + kind.outside_bytes;
    if (kind.row === 0) {
        samples.begun[k] = kind.batch;
        samples.runs[k].push({n: kind.batch, bytes: kind.added_bytes / kind.batch});
        if (samples.counted[k]) samples.live += kind.added_bytes;
    }
    if (kind.row + kind.rows === profile.tensors[k].rows) {
        samples.begun[k] = 0;
        samples.done[k] += kind.batch;
        samples.live -= release(profile, samples, k, before).counted;
    }
    return {from: before, live, outside: kind.outside_bytes, added: kind.added_bytes};
}

// Runs a compute step: its memory, and the samples behind it.
function compute(profile, samples, kind) {
    if (kind.rows) return computeRows(profile, samples, kind);
    const k = kind.layer, tensor = profile.tensors[k], before = samples.done[k];
    let from = before, outSamples = kind.batch;
    if (kind.n_slices > 1 || samples.slices[k]) {
        const moved = moveSlice(samples, kind);
        from = moved.from;
        if (samples.counted[k]) outSamples = moved.fresh;
        samples.runs[k].push({n: moved.fresh, bytes: tensor.out_bytes});
    } else {
        samples.runs[k].push({n: kind.batch, bytes: tensor.out_bytes});
        samples.done[k] += kind.batch;
    }
    const outside = tensor.inputs.includes(0) && !samples.counted[0] ? kind.batch * profile.input_bytes : 0;
    const live = samples.live + outside, out = outSamples * tensor.out_bytes;
    const released = samples.done[k] > before ? release(profile, samples, k, before) : {first: 0, counted: 0};
    const added = tensor.in_place ? out - Math.min(out, released.first) : out;
    samples.live += (samples.counted[k] ? out : 0) - released.counted;
    return {from, live, outside, added};
}

// Gives the time that a load takes alone, as the replay computes it.
function copyTime(profile, kind) {
    return profile.replay_copy[0] + kind.bytes / profile.replay_copy[1];
}

// Both clocks of a plan. Loads follow each other, and those that have not ended when a compute step begins run beside it;
// then a load takes profile.replay_beside[0] times as long, and a step of layer k profile.replay_beside[k] times.
class Clocks {
    constructor(profile) {
        this.profile = profile;
        this.clock = 0;
        this.loads = [];
        this.ended = 0;
        this.copyEnd = 0; // of the load that is copied, if computing waits from now on
    }
    load(step) {
        this.loads.push(step);
        if (this.ended === this.loads.length - 1) this.begin(this.clock);
    }
    begin(time) {
        const step = this.loads[this.ended];
        step.start = time;
        this.copyEnd = time + copyTime(this.profile, step.kind);
    }
    endLoad() {
        this.loads[this.ended++].end = this.copyEnd;
        if (this.ended < this.loads.length) this.begin(this.copyEnd);
    }
    // Lets computing wait for the first n loads.
    waitFor(n) {
        for (; this.ended < n; this.endLoad()) this.clock = this.copyEnd;
    }
    run(step) {
        const beside = this.profile.replay_beside, slow = beside ? beside[step.kind.layer] : 1, copiesSlow = beside ? beside[0] : 1;
        let now = step.start = this.clock, end = now + step.kind.time_us; // if no copy runs from now on
        for (; this.ended < this.loads.length; this.endLoad()) {
            const stepEnd = end + (end - now) * (slow - 1), copyEnd = this.copyEnd + (this.copyEnd - now) * (copiesSlow - 1);
            if (copyEnd > stepEnd) {
                this.copyEnd = Math.max(stepEnd, this.copyEnd + (stepEnd - now) * (1 - 1 / copiesSlow));
                end = stepEnd;
                break;
            }
            end = Math.max(copyEnd, end + (copyEnd - now) * (1 - 1 / slow));
            now = this.copyEnd = copyEnd;
        }
        step.end = this.clock = end;
    }
}

// Gives all steps of a plan with their memory and both clocks.
function replay(profile, plan) {
    const samples = begin(profile), clocks = new Clocks(profile);
    let weights = 0;
    const steps = kindsOf(profile, plan).map((kind, index) => {
        const step = {index, kind, from: 0, live: samples.live, outside: 0, added: 0, ws: 0, start: clocks.clock, end: clocks.clock};
        if (kind.op === 0) {
            Object.assign(step, compute(profile, samples, kind));
            step.ws = kind.ws_bytes;
            clocks.waitFor(kind.waits ? clocks.loads.length - kind.waits + 1 : 0);
            clocks.run(step);
        } else {
            weights += kind.op === 1 ? kind.bytes : -kind.bytes;
            if (kind.op === 1 && kind.resident) {
                step.start = step.end = 0;
            } else if (kind.op === 1) {
                clocks.load(step);
            }
        }
        step.weights = weights;
        step.memory = step.live + step.added + step.ws + step.weights;
        return step;
    });
    clocks.waitFor(clocks.loads.length);
    return steps;
}

// Replays a plan once; where this page and the replay differ, it says so.
function stepsOf(profile, plan) {
    if (plan.replayed) return plan.replayed;
    const steps = replay(profile, plan);
    let peak = 0, end = 0;
    steps.forEach((step, i) => {
        if (step.memory > steps[peak].memory) peak = i;
        end = Math.max(end, step.end);
    });
    if (steps[peak].memory !== plan.peak_bytes || peak !== plan.peak_step || Math.abs(end - plan.time_us) > 1e-9 * plan.time_us)
        fault("The page and the replay differ on the plan of " + plan.planner.name + " for " + plan.memory_bytes + " bytes (" +
            steps[peak].memory + " and " + plan.peak_bytes + " bytes, " + end + " and " + plan.time_us +
            " us). This is an error of vbslab.");
    plan.replayed = steps;
    return steps;
}

// Gives what is in memory during a step, by name: the largest first.
function contents(profile, plan, index) {
    const steps = stepsOf(profile, plan), step = steps[index], samples = begin(profile), weights = new Map(), parts = [];
    const add = (what, name, n, bytes) => bytes > 0 && parts.push({what, name, samples: n, bytes});
    for (let i = 0; i < index; i++)
        if (steps[i].kind.op === 0) compute(profile, samples, steps[i].kind);
    for (let i = 0; i <= index; i++) {
        const kind = steps[i].kind;
        if (kind.op !== 0) weights.set(kind.layer, (weights.get(kind.layer) || 0) + (kind.op === 1 ? kind.bytes : -kind.bytes));
    }
    profile.tensors.forEach((tensor, k) => {
        const n = written(samples, k) - samples.freed[k];
        if (samples.counted[k]) add("tensor", nameOf(profile, k), n, d3.sum(samples.runs[k], run => run.n * run.bytes));
    });
    add("tensor", "input (from outside)", step.kind.batch, step.outside);
    add("output", nameOf(profile, step.kind.layer), step.kind.batch, step.added);
    add("workspace", nameOf(profile, step.kind.layer), null, step.ws);
    weights.forEach((bytes, k) => add("weights", nameOf(profile, k), null, bytes));
    return parts.sort((a, b) => b.bytes - a.bytes);
}

// ---- Words and numbers ----

function nameOf(profile, k) {
    return k === 0 ? "input" : k + " " + visible(profile.tensors[k].name || "layer");
}

// Reads 20MiB, 15MB or bytes; null where it is no size.
function parseBytes(text) {
    const units = {"": 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 1024, mib: MIB, gib: 1073741824};
    const found = /^\s*([0-9]+(?:\.[0-9]*)?)\s*([a-zA-Z]*)\s*$/.exec(text);
    const unit = found && units[found[2].toLowerCase()];
    return unit ? Math.floor(Number(found[1]) * unit) : null;
}

function titleOf(profile) {
    const parts = [visible(profile.model || "unnamed")];
    if (profile.input) parts.push("[" + profile.input + "]");
    return parts.join(" ");
}

// The schedule as `vbslab plan --json` writes it for the budget of the plan.
function planText(profile, plan) {
    const string = JSON.stringify, included = profile.weights === "included";
    const named = (key, value) => value ? string(key) + ": " + string(value) + ", " : "";
    const layer = k => "\"layer\": " + k + ", " + named("name", profile.tensors[k].name);
    const lines = kindsOf(profile, plan).map(kind => {
        if (kind.op === 0)
            return "    { " + layer(kind.layer) + "\"batch\": " + kind.batch + ", \"algorithm\": " +
                string(profile.algorithms[kind.algorithm]) +
                (kind.n_slices > 1 ? ", \"part\": " + kind.slice + ", \"parts\": " + kind.n_slices : "") +
                (kind.rows ? ", \"row\": " + kind.row + ", \"rows\": " + kind.rows + ", \"window\": " + kind.window : "") + " }";
        return "    { \"op\": " + string(OPS[kind.op]) + ", " + layer(kind.layer) + "\"part\": " + kind.slice + ", \"parts\": " +
            kind.n_slices + ", \"bytes\": " + kind.bytes + (kind.format ? ", \"form\": " + kind.format : "") +
            (kind.resident ? ", \"resident\": true" : "") + " }";
    });
    return "{ \"format\": \"vbslab-schedule-1\", \"model\": " + string(profile.model) + ", \"planner\": " + string(plan.planner.name) +
        ", \"request\": " + profile.request + ",\n  \"memory_bytes\": " + plan.memory_bytes + ", \"io\": " + string(profile.io) + ", " +
        (profile.latency_bound_us ? "\"latency_us\": " + profile.latency_bound_us + ", " : "") + "\"weights\": " +
        string(profile.weights) + (profile.weight_bytes ? ", \"weight_bytes\": " + profile.weight_bytes : "") + ",\n" +
        (included ? "  \"copy\": { \"source\": " + string(profile.copy.source) + ", \"latency_us\": " + profile.copy.latency_us +
            ", \"bytes_per_us\": " + profile.copy.bytes_per_us + " },\n" : "") +
        "  \"predicted\": { \"time_us\": " + plan.time_us + ", \"per_sample_us\": " + plan.time_us / profile.request +
        ", \"peak_bytes\": " + plan.peak_bytes + ", \"reserved_bytes\": " + plan.reserved_bytes + ", " +
        (included ? "\"copy_us\": " + plan.copy_us + ", \"copied_bytes\": " + plan.copied_bytes + ", \"resident_bytes\": " +
            plan.resident_bytes + ", " : "") +
        "\"latency_us\": " + plan.latency_us + " },\n  \"bound\": { \"time_us\": " + plan.bound_us + ", \"gap_percent\": " +
        plan.gap_percent + " },\n  \"profile\": " + profile.profile + ", \"provenance\": { " + named("hash", profile.hash) +
        named("backend", profile.backend) + named("library", profile.library) + named("device", profile.device) +
        (profile.threads ? "\"threads\": " + profile.threads + ", " : "") + named("date", profile.date) + "\"modelled\": " +
        profile.modelled + " },\n  \"steps\": [\n" + lines.join(",\n") + "\n  ] }\n";
}

function colourOf(profile, p) {
    return d3.schemeTableau10[p % 10];
}

// ---- Throughput against memory ----

// Gives the budgets that the picture and the slider go over.
function budgetRange(profile) {
    const plans = d3.merge(profile.planners.map(planner => planner.list.filter(plan => plan.n_steps)));
    const rows = profile.compare.rows.map(row => row.memory_bytes);
    let low = d3.min(plans, plan => plan.memory_bytes), high = d3.max(plans.map(plan => plan.memory_bytes).concat(rows));
    if (low === undefined) return null;
    high = Math.ceil(Math.max(high + 0.03 * (high - low), 1.05 * low + 1));
    return {low, high, isLog: high > 30 * low};
}

function memoryScale(profile, range) {
    const scale = profile.range.isLog ? d3.scaleLog() : d3.scaleLinear();
    return scale.domain([profile.range.low / profile.unit.size, profile.range.high / profile.unit.size]).range(range);
}

// Gives the corners of a planner's curve: steps where its plans hold until the next.
function cornersOf(profile, planner) {
    const corners = [];
    for (const plan of planner.list)
        corners.push({memory: plan.memory_bytes / profile.unit.size, rate: plan.n_steps ? 1e6 * profile.request / plan.time_us : null});
    if (corners.length) corners.push(Object.assign({}, corners[corners.length - 1], {memory: profile.range.high / profile.unit.size}));
    return corners;
}

function drawCurve() {
    const profile = state.profile, box = d3.select("#curve"), unit = profile.unit.size;
    box.selectAll("*").remove();
    if (!profile.range) return;
    const picture = addPicture(box, "curve", "Samples a second in each budget", innerWidth < 600 ? 260 : 360), {svg, width, height} = picture;
    const corners = profile.planners.map(planner => cornersOf(profile, planner));
    const limit = profile.bounds.map(point => ({memory: point.memory_bytes / unit, rate: 1e6 * profile.request / point.time_us}));
    limit.push({memory: profile.range.high / unit, rate: 1e6 * profile.request / profile.bound_us});
    const rates = d3.merge(corners).concat(limit).map(d => d.rate).filter(rate => rate !== null && isFinite(rate));
    const low = d3.min(rates), high = d3.max(rates);
    const y = d3.scaleLinear().domain([low > 0.5 * high ? low - 0.05 * (high - low) - 0.001 * high : 0, high * 1.02]);
    const margin = {left: Math.max(50, axisSpace(y, 6)), right: 12, top: 18, bottom: 36};
    const x = memoryScale(profile, [margin.left, width - margin.right]);
    y.range([height - margin.bottom, margin.top]);
    const line = d3.line().defined(d => d.rate !== null && isFinite(d.rate)).x(d => x(d.memory)).y(d => y(d.rate));
    const ticks = d3.axisBottom(x).ticks(width / 90, "~r");
    addAxes(picture, ticks, d3.axisLeft(y).ticks(6), "budget, " + profile.unit.name + (profile.range.isLog ? " (logarithmic)" : ""), "samples/s", margin);
    svg.append("path").attr("class", "bound").attr("d", line.curve(d3.curveStepBefore)(limit));
    const lines = svg.append("g").selectAll("path").data(profile.planners).enter().append("path")
        .attr("class", "planner").attr("data-planner", d => d.name)
        .attr("stroke", (d, p) => colourOf(profile, p))
        .attr("stroke-dasharray", d => d.budgets === "compared" ? "5 3" : null)
        .attr("d", (d, p) => line.curve(d3.curveStepAfter)(corners[p]));
    const marker = svg.append("g").attr("class", "marker");
    marker.append("line").attr("y1", margin.top).attr("y2", height - margin.bottom);
    marker.selectAll("circle").data([0, 1]).enter().append("circle").attr("r", 4.5);
    svg.append("rect").attr("class", "catcher").attr("x", margin.left).attr("y", margin.top)
        .attr("width", width - margin.left - margin.right).attr("height", height - margin.top - margin.bottom)
        .call(d3.drag().on("start drag", () => setBudget(Math.round(x.invert(d3.event.x) * unit))));
    drawLegend(picture.figure);
    addTable(picture.figure, "vbslab-plans", () => curveTable(profile));
    profile.drawMarker = () => {
        marker.select("line").attr("x1", x(state.budget / unit)).attr("x2", x(state.budget / unit));
        marker.selectAll("circle").each(function (side) {
            const p = state.planners[side], plan = planAt(profile.planners[p], state.budget);
            d3.select(this).attr("display", plan ? null : "none").attr("fill", colourOf(profile, p))
                .attr("cx", x(state.budget / unit)).attr("cy", plan ? y(1e6 * profile.request / plan.time_us) : 0);
        });
        lines.classed("chosen", (d, p) => state.planners.includes(p));
    };
}

function drawLegend(figure) {
    const items = figure.append("ul").attr("class", "legend").selectAll("li")
        .data(state.profile.planners.map((planner, p) => ({name: planner.name + (planner.n_plans ? "" : " (no plan)"),
            dashed: planner.budgets === "compared", colour: colourOf(state.profile, p)}))
            .concat({name: "lower bound: no schedule is faster", colour: null})).enter().append("li");
    items.append("span").attr("class", d => d.colour ? d.dashed ? "key dashed" : "key" : "key bound").style("border-color", d => d.colour);
    items.append("span").text(d => visible(d.name));
}

// The plans as rows; steps count from 1, as on the page, and where they lie in the data is left out.
function curveTable(profile) {
    const own = profile.plan_columns.filter(column => column !== "first_step");
    const columns = ["planner"].concat(own, ["per_sample_us", "samples_per_s"]), rows = [];
    for (const planner of profile.planners)
        for (const plan of planner.list)
            rows.push([planner.name].concat(own.map(column => column === "peak_step" && plan.n_steps ? plan.peak_step + 1 : plan[column]),
                plan.n_steps ? [plan.time_us / profile.request, 1e6 * profile.request / plan.time_us] : [null, null]));
    return {caption: "Plans of all planners", columns, rows};
}

// ---- The budget ----

// The slider's positions are bytes, or, where budgets span a wide range, a millionth of their logarithm.
function sliderFrom(bytes) {
    const {low, high, isLog} = state.profile.range;
    return isLog ? Math.round(1e6 * Math.log(bytes / low) / Math.log(high / low)) : bytes;
}

function bytesFrom(position) {
    const {low, high, isLog} = state.profile.range;
    return isLog ? Math.round(low * Math.exp(position / 1e6 * Math.log(high / low))) : position;
}

function setBudget(bytes) {
    const {low, high} = state.profile.range;
    state.budget = Math.max(low, Math.min(high, bytes));
    state.steps = [null, null];
    drawBudget();
}

// Gives the budget of the next plan of the left planner, or of the one before.
function neighbour(direction) {
    const plans = state.profile.planners[state.planners[0]].changes, i = indexAt(plans, state.budget) + direction;
    return i >= 0 && i < plans.length ? plans[i].memory_bytes : state.budget;
}

function onSliderKey() {
    const jumps = {ArrowRight: () => neighbour(1), ArrowUp: () => neighbour(1), ArrowLeft: () => neighbour(-1),
        ArrowDown: () => neighbour(-1), PageUp: () => state.budget + state.profile.unit.size,
        PageDown: () => state.budget - state.profile.unit.size};
    if (!jumps[d3.event.key]) return;
    d3.event.preventDefault();
    setBudget(jumps[d3.event.key]());
}

function onBudgetTyped() {
    const bytes = parseBytes(this.value), {low, high} = state.profile.range;
    this.setCustomValidity(bytes === null ? "Type a size: 20MiB, 15MB or a number of bytes." :
        bytes < low || bytes > high ? "Budgets of this page go from " + low + " to " + high + " bytes." : "");
    if (this.reportValidity()) setBudget(bytes);
}

function drawBudget() {
    const profile = state.profile, {isLog, low, high} = profile.range;
    d3.select("#slider").attr("min", isLog ? 0 : low).attr("max", isLog ? 1e6 : high).attr("step", 1)
        .property("value", sliderFrom(state.budget)).attr("aria-valuetext", exactText(state.budget));
    d3.select("#budget").property("value", state.budget);
    d3.select("#budget-text").text(exactText(state.budget));
    d3.select("#before").property("disabled", neighbour(-1) === state.budget);
    d3.select("#after").property("disabled", neighbour(1) === state.budget);
    profile.drawMarker();
    drawSides();
}

// ---- A plan ----

function drawSides() {
    const sides = d3.select("#sides").selectAll("article").data([0, 1]);
    sides.enter().append("article").attr("aria-label", side => side ? "Right plan" : "Left plan").merge(sides).each(drawSide);
}

function drawSide(side) {
    const box = d3.select(this), profile = state.profile, planner = profile.planners[state.planners[side]];
    const plan = planAt(planner, state.budget), held = document.activeElement && document.activeElement.id;
    box.selectAll("*").remove();
    const label = box.append("p").attr("class", "choose").append("label").text("Planner ");
    label.append("select").attr("id", "planner-" + side).on("change", function () {
        state.planners[side] = this.selectedIndex;
        state.steps[side] = null;
        drawBudget();
    }).selectAll("option").data(profile.planners).enter().append("option").text(d => visible(d.name));
    label.select("select").property("selectedIndex", state.planners[side]);
    drawPlan(box, side, profile, planner, plan);
    if (held) {
        const element = document.getElementById(held);
        if (element && element !== document.activeElement) element.focus({preventScroll: true});
    }
}

function drawPlan(box, side, profile, planner, plan) {
    if (!plan) {
        const first = planner.list.find(p => p.n_steps);
        box.append("p").attr("class", "none").text("No plan in this budget. " +
            (first ? "The least budget with a plan is " + exactText(first.memory_bytes) + "." : "The planner has none in any budget."));
        return;
    }
    const steps = stepsOf(profile, plan);
    drawFacts(box, side, profile, plan, steps);
    box.append("button").attr("type", "button").attr("id", "save-" + side).text("Plan as JSON")
        .attr("title", "The file that vbslab plan --planner " + planner.name + " --memory " + plan.memory_bytes + " --json writes")
        .on("click", () => save("plan-" + planner.name + "-" + plan.memory_bytes + ".json", "application/json", planText(profile, plan)));
    drawBatches(box, profile, plan, steps);
    drawRectangles(box, profile, plan, steps);
    drawMemory(box, side, profile, plan, steps);
    drawClocks(box, profile, plan, steps);
}

// Gives the word for one of a unit: "MiB", "byte".
function oneOf(unit) {
    return unit.size === 1 ? "byte" : unit.name;
}

function boundText(us, bound) {
    if (!bound) return "-";
    return us <= bound * (1 + 1e-9) ? "0%: no schedule is faster" : "at most " + digits(100 * (us / bound - 1), 3) + "%";
}

function rangeText(batches) {
    const low = d3.min(batches), high = d3.max(batches);
    return low === high ? String(low) : low + " to " + high;
}

// What a plan is, in words: [name, text, title].
function factsOf(profile, plan, steps) {
    const bound = boundAt(profile, state.budget), batches = steps.filter(s => s.kind.op === 0).map(s => s.kind.batch);
    const facts = [
        ["time per sample", timeText(plan.time_us / profile.request), plan.time_us / profile.request + " us"],
        ["samples a second", digits(1e6 * profile.request / plan.time_us, 4)],
        ["peak", exactText(plan.peak_bytes), plan.peak_bytes + " bytes"],
        ["unused", exactText(state.budget - plan.peak_bytes)],
        ["above the lower bound", boundText(plan.time_us, bound)],
        ["batches", rangeText(batches) + " in " + plural(batches.length, "step")],
        ["latency", timeText(plan.latency_us)],
    ];
    if (profile.weights === "included")
        facts.push(["weights", bytesText(plan.resident_bytes) + " stay, " + bytesText(plan.copied_bytes) + " are copied in " +
            timeText(plan.copy_us)]);
    return facts.concat([["what binds", bindsText(profile, plan, steps)], ["one more " + oneOf(profile.unit), moreText(profile, plan)],
        ["next plan", nextText(profile, plan)]]);
}

function drawFacts(box, side, profile, plan, steps) {
    const list = box.append("dl").attr("class", "facts").attr("id", "facts-" + side).attr("data-memory", plan.memory_bytes)
        .attr("data-peak", plan.peak_bytes).attr("data-time", plan.time_us);
    for (const [name, text, title] of factsOf(profile, plan, steps)) {
        list.append("dt").text(name);
        list.append("dd").text(text).attr("title", title || null);
    }
}

function stepText(profile, kind) {
    if (kind.op !== 0)
        return (kind.op === 1 ? kind.resident ? "resident weights of " : "load of " : "eviction of ") + nameOf(profile, kind.layer) +
            (kind.n_slices > 1 ? ", slice " + kind.slice + " of " + kind.n_slices : "") + ", " + bytesText(kind.bytes);
    return nameOf(profile, kind.layer) + " on " + plural(kind.batch, "sample") + " with " + visible(profile.algorithms[kind.algorithm]) +
        (kind.n_slices > 1 ? ", slice " + kind.slice + " of " + kind.n_slices : "") +
        (kind.rows ? ", rows " + (kind.row + 1) + " to " + (kind.row + kind.rows) + " of " + profile.tensors[kind.layer].rows : "");
}

function bindsText(profile, plan, steps) {
    return "step " + (plan.peak_step + 1) + " of " + steps.length + ": " + stepText(profile, steps[plan.peak_step].kind);
}

// Gives the batches of each layer of a plan, in the order of its steps; slices count once.
function batchesOf(profile, steps) {
    const batches = profile.tensors.map(() => []);
    for (const step of steps)
        if (step.kind.op === 0 && step.kind.slice === 1 && step.kind.row === 0) batches[step.kind.layer].push(step.kind.batch);
    return batches;
}

// Says how one plan differs from another in time and batches.
function differenceText(profile, from, to) {
    const a = batchesOf(profile, stepsOf(profile, from)), b = batchesOf(profile, stepsOf(profile, to));
    const changed = d3.range(1, a.length).filter(k => a[k].join() !== b[k].join());
    const less = 100 * (1 - to.time_us / from.time_us);
    const shown = changed.slice(0, 2).map(k => nameOf(profile, k) + " " + runs(a[k]) + " \u2192 " + runs(b[k]));
    return timeText(to.time_us / profile.request) + " per sample, " +
        (less >= 0 ? digits(less, 3) + "% less" : digits(-less, 3) + "% more") + "; " +
        (changed.length ? "other batches in " + plural(changed.length, "layer") + ": " + shown.join("; ") +
            (changed.length > shown.length ? "; ..." : "") : "the same batches");
}

function moreText(profile, plan) {
    const budget = state.budget + profile.unit.size, other = planAt(plan.planner, budget), plans = plan.planner.changes;
    if (indexAt(plans, budget) === indexAt(plans, state.budget)) return "changes nothing";
    return other ? differenceText(profile, plan, other) : "leaves the planner without a plan";
}

function nextText(profile, plan) {
    const plans = plan.planner.changes, other = plans[indexAt(plans, state.budget) + 1];
    if (!other) return "none: more memory does not help" + (plan.planner.budgets === "exact" ? "" : ", as far as this page knows");
    return "at " + exactText(other.memory_bytes) + ", " + bytesText(other.memory_bytes - state.budget) + " more" +
        (other.n_steps ? "" : ": the planner has none there");
}

// Writes batches with repetitions: "4 (3x) 1".
function runs(batches) {
    const list = [];
    for (const batch of batches) {
        const last = list[list.length - 1];
        if (last && last.batch === batch) last.n++;
        else list.push({batch, n: 1});
    }
    const words = list.map(run => run.n > 1 ? run.batch + " (" + run.n + "x)" : String(run.batch));
    return words.length > 6 ? words.slice(0, 6).join(" ") + " ..." : words.join(" ");
}

// ---- Batch per layer ----

function drawBatches(box, profile, plan, steps) {
    const margin = {left: 36, right: 14, top: 18, bottom: 34}, n = profile.layers.length;
    const picture = addPicture(box, "batches", "Batch of each layer", 170), {svg, width, height} = picture;
    const batches = batchesOf(profile, steps), all = d3.range(1, n + 1).map(k => ({k, batches: batches[k]})).filter(d => d.batches.length);
    const layers = thin(all, Math.floor((width - margin.left) / 2), d => d3.max(d.batches));
    const x = d3.scaleLinear().domain([0.5, n + 0.5]).range([margin.left, width - margin.right]);
    const y = d3.scaleLinear().domain([0, d3.max(layers, d => d3.max(d.batches))]).range([height - margin.bottom, margin.top]).nice();
    const each = Math.max(1, (x(1) - x(0)) * (layers.length < all.length ? Math.ceil(all.length / layers.length) : 0.8));
    addAxes(picture, d3.axisBottom(x).ticks(Math.min(n, width / 60)).tickFormat(d3.format("d")), d3.axisLeft(y).ticks(Math.min(4, y.domain()[1])).tickFormat(d3.format("d")),
        "layer", "samples", margin);
    const marks = svg.append("g").selectAll("g").data(layers).enter().append("g");
    const bar = (name, value) => marks.append("rect").attr("class", name).attr("x", d => x(d.k) - each / 2).attr("width", each)
        .attr("y", d => y(value(d.batches))).attr("height", d => y(0) - y(value(d.batches)));
    bar("batch-most", b => d3.max(b));
    bar("batch-least", b => d3.min(b));
    addTip(marks, d => nameOf(profile, d.k) + "\nbatches in order: " + runs(d.batches));
    note(picture, (layers.length < all.length ? "Of " + all.length + " layers, " + layers.length + " are drawn. " : "") +
        "Strong colour: its smallest batch, faint: its largest.");
    addTable(picture.figure, "vbslab-batches", () => ({caption: "Batches of each layer, in their order",
        columns: ["layer", "name", "least", "most", "batches"],
        rows: all.map(d => [d.k, profile.tensors[d.k].name, d3.min(d.batches), d3.max(d.batches), d.batches.join(" ")])}));
}

// ---- The schedule as rectangles ----

// Finds the cuts that the order of the steps shows: a barrier where all steps of some layers come before
// all steps of the layers behind them, a split where all steps of some samples do. Outer cuts come
// first; steps between two cuts are cut again.
function findCuts(rectangles) {
    const cuts = [], parts = [{from: 0, to: rectangles.length, depth: 0}];
    for (let p = 0; p < parts.length; p++) {
        const part = parts[p], list = rectangles.slice(part.from, part.to);
        const ends = cutEnds(list);
        const places = ends.barriers.length ? ends.barriers : ends.splits;
        if (!places.length || part.depth > 6) continue;
        const area = areaOf(list);
        for (const place of places) cuts.push(Object.assign({depth: part.depth, isBarrier: ends.barriers.length > 0, area}, place));
        const borders = [0].concat(places.map(place => place.at), list.length);
        for (let i = 0; i + 1 < borders.length; i++)
            if (borders[i + 1] - borders[i] > 1)
                parts.push({from: part.from + borders[i], to: part.from + borders[i + 1], depth: part.depth + 1});
    }
    return cuts;
}

function areaOf(list) {
    return {left: d3.min(list, d => d.k), right: d3.max(list, d => d.k), top: d3.min(list, d => d.from), bottom: d3.max(list, d => d.to)};
}

function cutEnds(list) {
    const n = list.length, least = new Array(n), first = new Array(n), barriers = [], splits = [];
    for (let i = n - 1; i >= 0; i--) {
        least[i] = Math.min(list[i].k, i + 1 < n ? least[i + 1] : Infinity);
        first[i] = Math.min(list[i].from, i + 1 < n ? first[i + 1] : Infinity);
    }
    for (let i = 0, most = 0, last = 0; i + 1 < n; i++) {
        most = Math.max(most, list[i].k);
        last = Math.max(last, list[i].to);
        if (most < least[i + 1]) barriers.push({at: i + 1, place: most + 0.5});
        if (last <= first[i + 1]) splits.push({at: i + 1, place: last});
    }
    return {barriers, splits};
}

// Gives where a rectangle is drawn: the share of its samples that the rows of its step have.
function rowsOf(profile, d) {
    const kind = d.step.kind, share = kind.rows ? kind.batch / profile.tensors[kind.layer].rows : 0;
    return share ? {top: d.from + kind.row * share, bottom: d.from + (kind.row + kind.rows) * share} : {top: d.from, bottom: d.to};
}

function drawRectangles(box, profile, plan, steps) {
    const margin = {left: 36, right: 14, top: 18, bottom: 34}, n = profile.layers.length;
    const picture = addPicture(box, "rectangles", "The schedule as rectangles", 240), {svg, width, height} = picture;
    const all = steps.filter(s => s.kind.op === 0)
        .map((s, order) => ({step: s, order, k: s.kind.layer, from: s.from, to: s.from + s.kind.batch}))
        .map(d => Object.assign(d, rowsOf(profile, d)));
    const stride = Math.ceil(all.length / MOST_MARKS), shown = all.filter(d => (d.k - 1) % stride === 0);
    const x = d3.scaleLinear().domain([0.5, n + 0.5]).range([margin.left, width - margin.right]);
    const y = d3.scaleLinear().domain([0, profile.request]).range([margin.top, height - margin.bottom]);
    const colour = d3.scaleSequential(d3.interpolateViridis).domain([0, all.length]);
    addAxes(picture, d3.axisBottom(x).ticks(Math.min(n, width / 60)).tickFormat(d3.format("d")),
        d3.axisLeft(y).ticks(Math.min(profile.request, 6)).tickFormat(d3.format("d")), "layer", "sample", margin);
    const marks = svg.append("g").selectAll("rect").data(shown).enter().append("rect").attr("class", width / n < 5 ? "piece dense" : "piece")
        .attr("x", d => x(d.k - 0.5)).attr("width", d => Math.max(0.5, x(d.k + stride - 0.5) - x(d.k - 0.5)))
        .attr("y", d => y(d.top)).attr("height", d => y(d.bottom) - y(d.top)).attr("fill", d => colour(d.order));
    const cuts = all.length <= MOST_MARKS ? findCuts(all) : [];
    const isAll = drawCuts(svg, cuts, x, y);
    addTip(marks, d => stepText(profile, d.step.kind) + "\nsamples " + (d.from + 1) + " to " + d.to + ", step " + (d.step.index + 1) +
        " of " + steps.length + "\n" + timeText(d.step.kind.time_us));
    note(picture, stride > 1 ? "From dark (first) to light (last). One in " + stride + " layers is drawn, without cuts." :
        "From dark (first) to light (last). " + (isAll ? "Lines: cuts, outer ones thicker." : "Cuts are too close to each other for lines."));
    if (cuts.length) picture.figure.append("p").attr("class", "help").text(cutsText(cuts));
    addTable(picture.figure, "vbslab-steps", () => stepTable(profile, steps));
}

// Names the outermost cuts, and then those inside of their parts, as far as there is space.
function cutsText(cuts) {
    const words = cuts.slice(0, 8).map(cut => cut.isBarrier ? "barrier behind layer " + (cut.place - 0.5) :
        "split behind sample " + cut.place + (cut.depth ? " (layers " + cut.area.left + " to " + cut.area.right + ")" : ""));
    return "Cuts, outer ones first: " + words.join(", ") + (cuts.length > words.length ? " and " + (cuts.length - words.length) + " more." : ".");
}

// Gives the width of the lines of cuts that are alike: narrower where many lie side by side, and 0 where they
// would hide what is between them.
function cutWidth(cuts, scale, depth) {
    const places = Array.from(new Set(cuts.map(cut => cut.place))), distance = Math.abs(scale(d3.max(places)) - scale(d3.min(places)));
    const most = places.length > 1 ? 0.35 * distance / (places.length - 1) : Infinity;
    return most < 0.5 ? 0 : Math.min(most, [3, 2, 1.2, 0.7][depth]);
}

// Draws the cuts of the four outer levels. Gives whether all of these have lines.
function drawCuts(svg, cuts, x, y) {
    const outer = cuts.filter(cut => cut.depth < 4), group = svg.append("g").attr("class", "cuts");
    for (const {key, values} of d3.nest().key(cut => (cut.isBarrier ? "barriers " : "splits ") + cut.depth).entries(outer)) {
        const width = cutWidth(values, key.startsWith("barriers") ? x : y, values[0].depth);
        values.forEach(cut => cut.width = width);
    }
    group.selectAll("line").data(outer.filter(cut => cut.width)).enter().append("line")
        .attr("stroke-width", cut => cut.width)
        .attr("x1", cut => x(cut.isBarrier ? cut.place : cut.area.left - 0.5)).attr("x2", cut => x(cut.isBarrier ? cut.place : cut.area.right + 0.5))
        .attr("y1", cut => y(cut.isBarrier ? cut.area.top : cut.place)).attr("y2", cut => y(cut.isBarrier ? cut.area.bottom : cut.place));
    return outer.every(cut => cut.width);
}

function stepTable(profile, steps) {
    return {caption: "Steps in their order", columns: ["step", "op", "layer", "name", "batch", "algorithm", "part", "parts", "bytes", "done_before", "start_us",
        "end_us", "live_bytes", "added_bytes", "ws_bytes", "weight_bytes", "memory_bytes", "row", "rows", "window"],
    rows: steps.map(s => [s.index + 1, OPS[s.kind.op], s.kind.layer, profile.tensors[s.kind.layer].name, s.kind.op ? null : s.kind.batch,
        s.kind.op ? null : profile.algorithms[s.kind.algorithm], s.kind.slice, s.kind.n_slices, s.kind.op ? s.kind.bytes : null,
        s.kind.op ? null : s.from, s.start, s.end, s.live, s.added, s.ws, s.weights, s.memory,
        s.kind.row, s.kind.rows, s.kind.window])};
}

// ---- Memory ----

const LAYERS = [["weights", "weights"], ["live", "tensors"], ["added", "output"], ["ws", "workspace"]];

function drawMemory(box, side, profile, plan, steps) {
    const unit = unitOf(state.budget), margin = {left: 44, right: 14, top: 18, bottom: 34};
    const picture = addPicture(box, "memory", "Memory of each step", 220), {svg, width, height} = picture;
    const shown = thin(steps, 1000, s => s.memory), each = (width - margin.left - margin.right) / steps.length;
    const x = d3.scaleLinear().domain([0, steps.length]).range([margin.left, width - margin.right]);
    const y = d3.scaleLinear().domain([0, 1.05 * state.budget / unit.size]).range([height - margin.bottom, margin.top]);
    addAxes(picture, d3.axisBottom(x).ticks(Math.min(steps.length, width / 70)).tickFormat(d3.format("d")), d3.axisLeft(y).ticks(5), "step", unit.name, margin);
    const marks = svg.append("g").selectAll("g").data(shown).enter().append("g");
    LAYERS.forEach(([key], i) => marks.append("rect").attr("class", "part-" + key + (each < 3 ? " dense" : "")).attr("x", d => x(d.index))
        .attr("width", Math.max(0.6, each * steps.length / shown.length))
        .attr("y", d => y(d3.sum(LAYERS.slice(0, i + 1), l => d[l[0]]) / unit.size)).attr("height", d => y(0) - y(d[key] / unit.size)));
    svg.append("line").attr("class", "budget").attr("x1", margin.left).attr("x2", width - margin.right)
        .attr("y1", y(state.budget / unit.size)).attr("y2", y(state.budget / unit.size));
    svg.append("text").attr("class", "budget").attr("x", width - margin.right).attr("y", y(state.budget / unit.size) - 3).attr("text-anchor", "end").text("budget");
    const cursor = svg.append("path").attr("class", "cursor");
    addTip(marks, d => "step " + (d.index + 1) + ": " + stepText(profile, d.kind) + "\n" + LAYERS.filter(l => d[l[0]]).map(l => l[1] + " " + bytesText(d[l[0]])).join(", ") +
        "\ntogether " + exactText(d.memory));
    const keys = picture.figure.append("ul").attr("class", "legend").selectAll("li").data(LAYERS.filter(l => steps.some(s => s[l[0]]))).enter().append("li");
    keys.append("span").attr("class", l => "swatch part-" + l[0]);
    keys.append("span").text(l => l[1]);
    if (shown.length < steps.length) note(picture, "Of " + steps.length + " steps the " + shown.length + " largest of their neighbours are drawn.");
    const show = drawContents(picture.figure, side, profile, plan, steps);
    const move = index => {
        state.steps[side] = index;
        cursor.attr("d", "M" + x(index + 0.5) + "," + (height - margin.bottom + 1) + "l4,6h-8z");
        show(index);
    };
    marks.on("click", d => move(d.index));
    picture.figure.select("input").on("input", function () { move(this.value - 1); });
    move(state.steps[side] === null ? plan.peak_step : Math.min(state.steps[side], steps.length - 1));
}

// Adds the step that is shown in detail, and what is in memory during it. Gives the function that shows one.
function drawContents(figure, side, profile, plan, steps) {
    const line = figure.append("p").attr("class", "step-line").append("label").text("Step ");
    const slider = line.append("input").attr("type", "range").attr("id", "step-" + side).attr("min", 1).attr("max", steps.length);
    const text = figure.append("p").attr("class", "step-text").attr("id", "step-text-" + side);
    const box = figure.append("div").attr("class", "scroll contents").attr("id", "contents-" + side);
    return index => {
        const parts = contents(profile, plan, index), total = d3.sum(parts, d => d.bytes);
        const words = (index + 1) + " of " + steps.length + (index === plan.peak_step ? " (the peak): " : ": ") + stepText(profile, steps[index].kind);
        slider.property("value", index + 1).attr("aria-valuetext", words);
        text.text("Step " + words);
        box.selectAll("*").remove();
        drawTable(box, "In memory during this step", ["what", "of", "samples", "bytes"],
            parts.slice(0, 12).map(d => [d.what, d.name, d.samples, {text: bytesText(d.bytes), title: d.bytes + " bytes"}])
                .concat(parts.length > 12 ? [["others", plural(parts.length - 12, "part"), null, bytesText(d3.sum(parts.slice(12), d => d.bytes))]] : [])
                .concat([[{text: "together", strong: true}, "", null, {text: bytesText(total), title: total + " bytes", strong: true}]]));
        if (total !== steps[index].memory) fault("The parts of step " + (index + 1) + " of " + plan.planner.name + " are " + total + " bytes, not " + steps[index].memory + ". This is an error of vbslab.");
    };
}

// ---- Clocks ----

function drawClocks(box, profile, plan, steps) {
    const copies = steps.some(s => s.kind.op === 1 && !s.kind.resident), lanes = copies ? ["compute", "copy"] : ["compute"];
    const margin = {left: 58, right: 20, top: 6, bottom: 34}, unit = timeUnitOf(plan.time_us);
    const picture = addPicture(box, "clocks", copies ? "Both clocks" : "The clock", 46 + 44 * lanes.length), {svg, width, height} = picture;
    const all = steps.filter(s => s.end > s.start), shown = thin(all, MOST_MARKS, s => s.end - s.start);
    const x = d3.scaleLinear().domain([0, plan.time_us / unit.size || 1]).range([margin.left, width - margin.right]);
    const y = d3.scaleBand().domain(lanes).range([margin.top, height - margin.bottom]).padding(0.15);
    addAxes(picture, d3.axisBottom(x).ticks(width / 80), d3.axisLeft(y).tickSize(0), unit.name, "", margin);
    const colour = d3.scaleSequential(d3.interpolateSinebow).domain([0, profile.layers.length + 1]);
    const marks = svg.append("g").selectAll("rect").data(shown).enter().append("rect").attr("class", "clock")
        .attr("x", d => x(d.start / unit.size)).attr("width", d => Math.max(0.4, x(d.end / unit.size) - x(d.start / unit.size)))
        .attr("y", d => y(OPS[d.kind.op] === "compute" ? "compute" : "copy")).attr("height", y.bandwidth()).attr("fill", d => colour(d.kind.layer));
    addTip(marks, d => "step " + (d.index + 1) + ": " + stepText(profile, d.kind) + "\n" + timeText(d.start) + " to " + timeText(d.end) + ", " + timeText(d.end - d.start));
    note(picture, shown.length < all.length ? "Of " + all.length + " steps the " + shown.length + " longest of their neighbours are drawn. Colours tell layers apart." : "Colours tell layers apart; gaps are waiting.");
    addTable(picture.figure, "vbslab-clocks", () => stepTable(profile, steps));
}

// ---- Runs ----

// Prepares a run of a profile. What it solved may differ from the rest of the page in request, io and weights;
// its replay has kinds of steps and a plan of its own.
function prepareRun(run, profile) {
    if (run.problem) return;
    run.problem = Object.assign(Object.create(profile), {request: run.request, io: run.io, weights: run.weights,
        replay_copy: run.replay_copy, replay_beside: run.replay_beside, kindList: objects(run.kind_columns, run.kinds), stepList: unpack(run.steps, run.n_steps)});
    run.plan = objects(profile.plan_columns, [run.plan])[0];
    run.plan.planner = {name: run.planner};
    run.list = stepsOf(run.problem, run.plan).map((step, i) => ({step, lane: step.kind.op === 0 ? "compute" : "copy",
        planned: {start: step.start, end: step.end}, executed: {start: run.start_us[i], end: run.end_us[i]}}));
}

// Gives the steps of a run that take time on a clock: all but evictions and resident loads.
function timedSteps(run) {
    return run.list.filter(d => d.step.kind.op === 0 || (d.step.kind.op === 1 && !d.step.kind.resident));
}

function lasts(times) {
    return times.end - times.start;
}

// Says by how much b is above or below a; a factor where it is large.
function againstText(a, b) {
    if (!(a > 0) || !(b >= 0)) return "-";
    return b > 10 * a ? digits(b / a, 3) + " times" : (b >= a ? "+" : "-") + digits(Math.abs(100 * (b / a - 1)), 3) + "%";
}

function drawRuns() {
    const profile = state.profile, index = report.profiles.indexOf(profile);
    const runs = report.runs.filter(run => run.profile_index === index), section = d3.select("#run-section").attr("hidden", runs.length ? null : "");
    if (!runs.length) return;
    d3.select("#choose-run").attr("hidden", runs.length > 1 ? null : "");
    const options = section.select("#run").on("change", drawRun).selectAll("option").data(runs);
    options.enter().append("option").merge(options).text((run, i) => (i + 1) + ": " + visible(run.planner) + " in " + bytesText(run.memory_bytes) + ", " + visible(run.source));
    options.exit().remove();
    drawRun();
}

function drawRun() {
    const profile = state.profile, index = report.profiles.indexOf(profile), box = d3.select("#run-box");
    const run = report.runs.filter(one => one.profile_index === index)[Math.max(0, d3.select("#run").property("selectedIndex"))];
    prepareRun(run, profile);
    box.selectAll("*").remove();
    drawRunFacts(box, run);
    drawRunClocks(box, run);
    const pair = box.append("div").attr("class", "pair");
    drawRunLayers(pair, run);
    drawRunMemory(pair, run);
}

function drawRunFacts(box, run) {
    const m = run.measured, time = us => us === undefined ? "-" : timeText(us);
    const facts = [
        ["run", run.planner + ", " + plural(run.request, "sample") + " in " + exactText(run.memory_bytes) + ", io " + run.io + ", weights " + run.weights],
        ["planned", time(run.plan.time_us) + ", " + time(run.plan.time_us / run.request) + " per sample"],
        ["executed", time(m.time_us) + ", " + time(m.time_us / run.request) + " per sample, " + againstText(run.plan.time_us, m.time_us) + " against planned; median of " +
            plural(m.n_runs || 1, "run") + ", " + time(m.fastest_us) + " to " + time(m.slowest_us)],
        ["computing", time(run.plan.compute_us) + " planned, " + time(m.compute_us) + " executed"],
    ];
    if (run.weights === "included")
        facts.push(["copying weights", time(run.plan.copy_us) + " planned, " + time(m.copy_us) + " executed"],
            ["waiting for them", time(run.plan.time_us - run.plan.compute_us) + " planned, " + time(m.waited_us) + " executed"]);
    if (m.io_us !== undefined) facts.push(["inputs and outputs", time(m.io_us) + ", which is not planned"]);
    if (run.bit_equal !== null) facts.push(["outputs", run.bit_equal ? "those of one sample at a time, to the bit" : "those of one sample at a time, within the tolerance of rounding"]);
    facts.push(["file", run.source]);
    const list = box.append("dl").attr("class", "facts").attr("id", "run-facts");
    for (const [name, text] of facts) {
        list.append("dt").text(name);
        list.append("dd").text(visible(String(text)));
    }
}

function runTable(run) {
    const profile = run.problem;
    return {caption: "Steps, planned and in the fastest run", columns: ["step", "op", "layer", "name", "batch", "part", "parts", "planned_start_us", "planned_end_us",
        "start_us", "end_us", "planned_us", "executed_us", "difference_percent"],
    rows: run.list.map(d => {
        const kind = d.step.kind, planned = lasts(d.planned), executed = lasts(d.executed);
        return [d.step.index + 1, OPS[kind.op], kind.layer, profile.tensors[kind.layer].name, kind.op ? null : kind.batch, kind.slice, kind.n_slices,
            d.planned.start, d.planned.end, d.executed.start, d.executed.end, planned, Math.round(1e3 * executed) / 1e3, planned > 0 ? Number((100 * (executed / planned - 1)).toPrecision(4)) : null];
    })};
}

function runStepText(run, d) {
    const text = times => timeText(lasts(times)) + " from " + timeText(times.start) + " on";
    return stepText(run.problem, d.step.kind) + ": planned " + text(d.planned) + "; executed " + text(d.executed) + ", " +
        againstText(lasts(d.planned), lasts(d.executed));
}

function drawRunClocks(box, run) {
    const all = timedSteps(run), copies = all.some(d => d.lane === "copy");
    const lanes = [["compute", "planned"], ["compute", "executed"]].concat(copies ? [["copy", "planned"], ["copy", "executed"]] : []);
    const name = lane => (lane[0] === "copy" ? "copies, " : "") + lane[1], margin = {left: copies ? 104 : 64, right: 20, top: 6, bottom: 34};
    const picture = addPicture(box, "executed", "Planned beside executed", 46 + 36 * lanes.length), {svg, width, height} = picture;
    const shown = thin(all, MOST_MARKS / 2, d => lasts(d.executed)), end = d3.max(all, d => Math.max(d.planned.end, d.executed.end)) || 1;
    const unit = timeUnitOf(end), x = d3.scaleLinear().domain([0, end / unit.size]).range([margin.left, width - margin.right]);
    const y = d3.scaleBand().domain(lanes.map(name)).range([margin.top, height - margin.bottom]).padding(0.15);
    addAxes(picture, d3.axisBottom(x).ticks(width / 80), d3.axisLeft(y).tickSize(0), unit.name, "", margin);
    const colour = d3.scaleSequential(d3.interpolateSinebow).domain([0, run.problem.layers.length + 1]);
    const place = (marks, lane) => marks.attr("x", d => x(d[lane[1]].start / unit.size)).attr("y", y(name(lane))).attr("height", y.bandwidth())
        .attr("width", d => Math.max(0.4, x(d[lane[1]].end / unit.size) - x(d[lane[1]].start / unit.size)));
    for (const lane of lanes) {
        const marks = svg.append("g").selectAll("rect").data(shown.filter(d => d.lane === lane[0])).enter().append("rect").attr("class", "clock")
            .attr("fill", d => colour(d.step.kind.layer));
        place(marks, lane);
        addTip(marks, d => "step " + (d.step.index + 1) + ": " + runStepText(run, d));
        marks.on("click", d => show(all.indexOf(d)));
    }
    note(picture, (shown.length < all.length ? "Of " + all.length + " steps the " + shown.length + " longest of their neighbours are drawn. " : "") +
        "The fastest run, by step. Colours tell layers apart.");
    const cursors = svg.append("g").attr("class", "selected").selectAll("rect").data([0, 1]).enter().append("rect");
    const line = picture.figure.append("p").attr("class", "step-line").append("label").text("Step ");
    const slider = line.append("input").attr("type", "range").attr("id", "run-step").attr("min", 1).attr("max", all.length);
    const text = picture.figure.append("p").attr("class", "step-text").attr("id", "run-step-text").attr("role", "status");
    const show = i => {
        const words = (all[i].step.index + 1) + " of " + run.list.length + ": " + runStepText(run, all[i]);
        cursors.each(function (d, which) { place(d3.select(this).datum(all[i]), lanes.filter(lane => lane[0] === all[i].lane)[which]); });
        slider.property("value", i + 1).attr("aria-valuetext", words);
        text.text("Step " + words);
    };
    slider.on("input", function () { show(this.value - 1); });
    addTable(picture.figure, "vbslab-executed", () => runTable(run));
    if (all.length) show(d3.scan(all, (a, b) => lasts(b.executed) - lasts(a.executed)));
}

// Gives for each layer the steps and the times of a run together.
function runLayers(run) {
    const layers = run.problem.layers.map((layer, i) => ({k: i + 1, n: 0, planned: 0, executed: 0}));
    for (const d of run.list.filter(one => one.lane === "compute")) {
        const layer = layers[d.step.kind.layer - 1];
        layer.n++;
        layer.planned += lasts(d.planned);
        layer.executed += lasts(d.executed);
    }
    return layers.filter(layer => layer.n);
}

function drawRunLayers(box, run) {
    const margin = {left: 48, right: 14, top: 18, bottom: 34}, n = run.problem.layers.length, all = runLayers(run);
    const most = d3.max(all, d => Math.max(d.planned, d.executed)), unit = timeUnitOf(most);
    const picture = addPicture(box, "run-layers", "Time of each layer", 220), {svg, width, height} = picture;
    const shown = thin(all, Math.floor((width - margin.left) / 4), d => d.executed);
    const x = d3.scaleLinear().domain([0.5, n + 0.5]).range([margin.left, width - margin.right]);
    const y = d3.scaleLinear().domain([0, most / unit.size || 1]).range([height - margin.bottom, margin.top]).nice();
    const each = Math.max(1, (x(1) - x(0)) * (shown.length < all.length ? Math.ceil(all.length / shown.length) : 0.8) / 2);
    addAxes(picture, d3.axisBottom(x).ticks(Math.min(n, width / 60)).tickFormat(d3.format("d")), d3.axisLeft(y).ticks(5), "layer", unit.name, margin);
    const marks = svg.append("g").selectAll("g").data(shown).enter().append("g");
    [["planned", "batch-most"], ["executed", "batch-least"]].forEach(([key, style], i) => marks.append("rect").attr("class", style)
        .attr("x", d => x(d.k) + (i - 1) * each).attr("width", each).attr("y", d => y(d[key] / unit.size)).attr("height", d => y(0) - y(d[key] / unit.size)));
    addTip(marks, d => nameOf(run.problem, d.k) + "\nplanned " + timeText(d.planned) + ", executed " + timeText(d.executed) + ", " + againstText(d.planned, d.executed));
    note(picture, (shown.length < all.length ? "Of " + all.length + " layers, " + shown.length + " are drawn. " : "") + "Faint colour: planned, strong: in the fastest run.");
    addTable(picture.figure, "vbslab-run-layers", () => ({caption: "Layers, planned and in the fastest run", columns: ["layer", "name", "n_steps", "planned_us", "measured_us", "difference_percent"],
        rows: all.map(d => [d.k, run.problem.tensors[d.k].name, d.n, d.planned, d.executed, d.planned > 0 ? Number((100 * (d.executed / d.planned - 1)).toPrecision(4)) : null])}));
}

// The peaks of a run, as `vbslab run` prints them: key, name, meaning.
const PEAKS = [["planned_bytes", "planned", "live at most, by the replay"], ["placed_bytes", "placed", "the highest end of a buffer in the arena"],
    ["touched_bytes", "touched", "pages of the arena in memory after the runs"], ["high_water_bytes", "process", "most that the process rose above its base"]];

function drawRunMemory(box, run) {
    const peaks = PEAKS.filter(([key]) => run.memory[key] !== undefined), margin = {left: 60, right: 14, top: 8, bottom: 34};
    const picture = addPicture(box, "peaks", "Four peaks of memory", 220), {svg, width, height} = picture;
    const most = d3.max(peaks.map(([key]) => run.memory[key]).concat(run.memory_bytes)), unit = unitOf(most);
    const x = d3.scaleLinear().domain([0, 1.05 * most / unit.size]).range([margin.left, width - margin.right]);
    const y = d3.scaleBand().domain(peaks.map(peak => peak[1])).range([margin.top, height - margin.bottom]).padding(0.25);
    addAxes(picture, d3.axisBottom(x).ticks(width / 90), d3.axisLeft(y).tickSize(0), unit.name, "", margin);
    const marks = svg.append("g").selectAll("g").data(peaks).enter().append("g");
    marks.append("rect").attr("class", "batch-least").attr("x", x(0)).attr("y", d => y(d[1])).attr("height", y.bandwidth())
        .attr("width", d => x(run.memory[d[0]] / unit.size) - x(0));
    addTip(marks, d => d[1] + ": " + exactText(run.memory[d[0]]) + "\n" + d[2]);
    const budget = x(run.memory_bytes / unit.size);
    svg.append("line").attr("class", "budget").attr("x1", budget).attr("x2", budget).attr("y1", margin.top).attr("y2", height - margin.bottom);
    note(picture, "Dashed: the budget, " + exactText(run.memory_bytes) + ". " +
        (run.memory.base_bytes === undefined ? "" : "Beside it the process needs a base of " + bytesText(run.memory.base_bytes) + "."));
    const rows = [["budget", run.memory_bytes, "the arena, obtained once"]].concat(peaks.map(([key, name, what]) => [name, run.memory[key], what]))
        .concat([["lost_bytes", "lost", "between planned and placed"], ["moved_bytes", "moved", "copied within the arena, so that batches lie together"],
            ["base_bytes", "base", "of the process beside the arena"]].filter(([key]) => run.memory[key] !== undefined).map(([key, name, what]) => [name, run.memory[key], what]));
    addTable(picture.figure, "vbslab-peaks", () => ({caption: "Memory of the run", columns: ["memory", "bytes", "meaning"], rows}));
}

// ---- Comparison ----

// What the table of the comparison can show: the key of a row, its title, its text.
function figuresOf(profile) {
    const gain = name => row => {
        const low = row["gain_over_" + name + "_low_percent"], high = row["gain_over_" + name + "_high_percent"], value = row["gain_over_" + name + "_percent"];
        return value === null ? "-" : value.toFixed(1) + (low === null ? "" : " (" + low.toFixed(1) + " to " + high.toFixed(1) + ")");
    };
    const unit = timeUnitOf(d3.max(profile.compare.rows, row => row.per_sample_us) || 0);
    const figures = [
        ["per_sample_us", "time per sample, " + unit.name, row => digits(row.per_sample_us / unit.size, 4)],
        ["samples_per_s", "samples a second", row => digits(row.samples_per_s, 4)],
        ["gain_over_fbs_percent", "gain over fbs, % (95% interval)", gain("fbs")],
        ["gain_over_fbs_best_percent", "gain over fbs-best, % (95% interval)", gain("fbs_best")],
        ["gap_percent", "time above the lower bound, %", row => digits(row.gap_percent, 3)],
        ["peak_bytes", "peak, " + profile.unit.name, row => digits(row.peak_bytes / profile.unit.size, 4)],
        ["batches", "smallest and largest batch", row => rangeText([row.min_batch, row.max_batch])],
        ["latency_us", "latency, " + unit.name, row => digits(row.latency_us / unit.size, 4)],
        ["plan_us", "time of planning, ms", row => digits(row.plan_us / 1e3, 3)],
    ];
    if (profile.weights === "included")
        figures.splice(4, 0, ["gain_over_mmcnn_percent", "gain over mmcnn, % (95% interval)", gain("mmcnn")],
            ["gain_over_vdnn_percent", "gain over vdnn, % (95% interval)", gain("vdnn")],
            ["copied_bytes", "copied weights, " + profile.unit.name, row => digits(row.copied_bytes / profile.unit.size, 4)]);
    return figures;
}

function drawGains() {
    const profile = state.profile, rows = profile.compare.rows, box = d3.select("#gains");
    const unit = profile.unit, figure = figuresOf(profile).find(f => f[0] === state.figure) || figuresOf(profile)[0];
    const planners = Array.from(new Set(rows.map(row => row.planner))), budgets = d3.nest().key(row => row.memory_bytes).entries(rows);
    box.selectAll("*").remove();
    box.append("button").attr("type", "button").attr("id", "save-compare").text("CSV of all figures")
        .on("click", () => save("vbslab-compare.csv", "text/csv", csvText(Object.keys(rows[0]), rows.map(row => Object.values(row)))));
    drawTable(box, figure[1], ["memory, " + unit.name].concat(planners), budgets.map(budget => {
        const fastest = d3.min(budget.values.filter(row => row.feasible), row => row.per_sample_us);
        return [{text: String(Number((budget.key / unit.size).toPrecision(6))), title: budget.key + " bytes"}].concat(planners.map(name => {
            const row = budget.values.find(r => r.planner === name);
            if (!row || !row.feasible) return {text: "-", title: "no plan" + (row && row.least_bytes ? "; the least budget is " + row.least_bytes + " bytes" : "")};
            return {text: figure[2](row) + (row.per_sample_us > fastest && row.within_noise ? " ~" : ""), strong: row.per_sample_us === fastest};
        }));
    }));
}

function drawGainsAbout() {
    const compare = state.profile.compare;
    const from = {samples: "the samples of the measurement", rows: "the interval of each row's median"}[compare.intervals];
    d3.select("#gains-about").text("As vbslab compare computes it. Bold: the fastest of a budget; ~: noise cannot tell it from the fastest. " +
        (from ? "Intervals show the noise of the times, from " + from + ". " : "There are no intervals, because the times have no noise that is known. ") +
        (compare.self_judged ? "The profile judges its own plans, so that gains contain luck." : "Times are those of a second profile, which judges: " +
            [compare.judge_provenance.device, compare.judge_provenance.date, compare.judge_provenance.hash].filter(Boolean).join(", ") + "."));
}

// ---- Planners and provenance ----

function howText(planner) {
    const n = plural(planner.n_plans, "plan");
    if (planner.refused) return "left out: " + planner.refused;
    if (!planner.n_plans) return "no plan in any budget";
    if (planner.budgets === "exact") return n + ": every budget at which the plan changes, to the byte";
    if (planner.budgets === "some")
        return n + " of " + planner.n_breakpoints + " at which the plan changes; between them the page shows the plan for the next smaller budget";
    return n + ": this planner searches under a limit, so that only the budgets of the comparison are planned; between them the page shows the plan for the next smaller one";
}

function drawPlanners() {
    const box = d3.select("#planners");
    box.selectAll("*").remove();
    drawTable(box, "How the plans of this page were found", ["planner", "what it does", "source", "plans on this page"],
        state.profile.planners.map(planner => [planner.name, planner.summary, planner.source, howText(planner)]));
}

function drawProvenance() {
    const profile = state.profile, list = d3.select("#from").text("").append("dl").attr("class", "facts");
    const weights = profile.weights === "included" ? "included, copied from " + profile.copy.source : "excluded: " + bytesText(profile.weight_bytes) + " beside the budget";
    const facts = [["model", profile.model], ["input", profile.input], ["times", profile.modelled ? "modelled" : "measured"], ["backend", profile.backend],
        ["library", profile.library], ["device", profile.device], ["threads", profile.threads || ""], ["date", profile.date], ["notes", profile.notes],
        ["measured by vbslab", profile.vbslab], ["profile", profile.profile || ""], ["content", profile.hash], ["request", plural(profile.request, "sample")],
        ["inputs and outputs", profile.io === "external" ? "outside the budget" : "inside the budget"], ["weights", weights],
        ["bound of the latency", profile.latency_bound_us ? timeText(profile.latency_bound_us) : ""], ["layers", profile.layers.length]];
    for (const [name, text] of facts.filter(fact => fact[1] !== "")) {
        list.append("dt").text(name);
        list.append("dd").text(visible(String(text)));
    }
}

// ---- The page ----

const NOISY_PERCENT = 5; // half of the intervals of its times together, of these times: a profile above it is noisy

// Says at the head of the page that differences between plans are noise, where the times are known no better.
function drawNoise(profile) {
    const percent = profile.interval_percent, noisy = percent !== null && percent > NOISY_PERCENT;
    d3.select("#noise").attr("hidden", noisy ? null : "").text(!noisy ? "" : "The times of this profile are noisy: they are known within " +
        d3.format(percent < 10 ? ".1f" : ".0f")(percent) + "% only (95% intervals). Smaller differences between plans say nothing; " +
        "vbslab measure --until 2% on a calm machine makes a better profile.");
}

// Gives the index of the first of these planners that has plans; else 0.
function findPlanner(profile, names) {
    const has = name => profile.planners.findIndex(planner => planner.name === name && planner.n_plans);
    return Math.max(0, names.map(has).find(p => p >= 0) || 0);
}

function chooseProfile(index) {
    const profile = state.profile = prepare(report.profiles[index]);
    profile.range = budgetRange(profile);
    profile.unit = unitOf(profile.range ? profile.range.high : d3.max(profile.compare.rows, row => row.memory_bytes));
    state.planners = [findPlanner(profile, ["joint", "dp-vbs+"]), findPlanner(profile, ["mmcnn", "fbs-best"])];
    d3.select("#about").text(titleOf(profile) + ", request of " + plural(profile.request, "sample") + ", " + (profile.modelled ? "modelled" : "measured") +
        (profile.device ? " on " + visible(profile.device) : "") + (profile.threads ? ", " + plural(profile.threads, "thread") : ""));
    drawNoise(profile);
    d3.select("#nothing").attr("hidden", profile.range ? "" : null);
    d3.selectAll("#budget-controls, #budget-help, #budget-text").attr("hidden", profile.range ? null : "");
    d3.select("#budget-step").text("1 " + oneOf(profile.unit));
    d3.select("#sides").selectAll("*").remove();
    const figures = d3.select("#figure").selectAll("option").data(figuresOf(profile));
    figures.enter().append("option").merge(figures).attr("value", d => d[0]).text(d => d[1]);
    figures.exit().remove();
    drawAll();
}

// A third of the way between the least budget and the largest.
function firstBudget({low, high, isLog}) {
    return Math.round(isLog ? low * Math.pow(high / low, 1 / 3) : low + (high - low) / 3);
}

function drawAll() {
    const profile = state.profile;
    drawCurve();
    if (profile.range) setBudget(state.budget || firstBudget(profile.range));
    drawRuns();
    drawGains();
    drawGainsAbout();
    drawPlanners();
    drawProvenance();
}

function start() {
    const names = report.profiles.map((profile, i) => (i + 1) + ": " + titleOf(profile) + (profile.date ? ", " + profile.date.slice(0, 10) : ""));
    d3.select("#title").text(report.profiles.length === 1 ? titleOf(report.profiles[0]) : plural(report.profiles.length, "profile"));
    document.title = "vbslab report: " + d3.select("#title").text();
    d3.select("#choose-profile").attr("hidden", report.profiles.length > 1 ? null : "");
    d3.select("#profile").on("change", function () { state.budget = 0; chooseProfile(this.selectedIndex); })
        .selectAll("option").data(names).enter().append("option").text(d => d);
    d3.select("#slider").on("input", function () { setBudget(bytesFrom(Number(this.value))); }).on("keydown", onSliderKey);
    d3.select("#budget").on("change", onBudgetTyped);
    d3.select("#before").on("click", () => setBudget(neighbour(-1)));
    d3.select("#after").on("click", () => setBudget(neighbour(1)));
    d3.select("#figure").on("change", function () { state.figure = this.value; drawGains(); });
    d3.select("#command").text(visible(report.command));
    d3.select("#made").text("Made by vbslab " + report.vbslab + ".");
    let width = innerWidth;
    window.addEventListener("resize", () => {
        if (innerWidth === width) return;
        width = innerWidth;
        drawAll();
    });
    chooseProfile(0);
}

start();
