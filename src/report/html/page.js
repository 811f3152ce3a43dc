"use strict";
/*
 * What the pages of vbslab share: numbers as text, tables, pictures, and files to save. page.js
 * stands before the script of the page itself. The JSON in the element "data" has everything that
 * is shown.
 *
 * Names come from files: they become text nodes and attributes, never markup.
 */

const MOST_MARKS = 4000; // of one picture; more are summarised
const MOST_ROWS = 1000; // of a table on the page; its CSV has all
const MIB = 1048576;
const OPS = ["compute", "load", "drop"]; // as in enum vbs_step_op and in files

const pageData = JSON.parse(document.getElementById("data").textContent);

// ---- Words and numbers ----

// Makes characters visible that would hide, or turn the text around them: controls, line separators, and
// those that change the direction of writing, as \\x and the hexadecimal digits of their bytes, as the program does.
function visible(text) {
    return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, character =>
        Array.from(new TextEncoder().encode(character), byte => "\\x" + byte.toString(16).padStart(2, "0")).join(""));
}

// Gives objects for rows of numbers.
function objects(columns, rows) {
    return rows.map(row => {
        const object = {};
        columns.forEach((column, i) => object[column] = i < row.length ? row[i] : null);
        return object;
    });
}

function digits(value, n) {
    if (value === null || !isFinite(value)) return "-";
    const all = Number(value.toPrecision(n));
    return all === 0 ? "0" : all.toFixed(Math.max(0, n - 1 - Math.floor(Math.log10(Math.abs(all)))));
}

function bytesText(bytes) {
    const units = [["GiB", 1073741824], ["MiB", MIB], ["KiB", 1024]];
    if (bytes === null) return "-";
    for (const [unit, size] of units)
        if (Math.abs(bytes) >= size) return digits(bytes / size, 4) + " " + unit;
    return bytes + " B";
}

// Gives the unit of an axis or a table that goes up to these bytes.
function unitOf(bytes) {
    return bytes >= 4 * MIB ? {name: "MiB", size: MIB} : bytes >= 4096 ? {name: "KiB", size: 1024} : {name: "bytes", size: 1};
}

// Gives the unit of an axis or a table that goes up to this time.
function timeUnitOf(us) {
    return us >= 1e3 ? {name: "ms", size: 1e3} : {name: "us", size: 1};
}

function exactText(bytes) {
    return bytesText(bytes) + (Math.abs(bytes) >= 1024 ? " (" + d3.format(",")(bytes) + " bytes)" : "");
}

function timeText(us) {
    return us >= 1e6 ? digits(us / 1e6, 4) + " s" : us >= 1e3 ? digits(us / 1e3, 4) + " ms" : digits(us, 4) + " us";
}

// Gives "+1.50%"; no sign of a rounding error where two decimals show none.
function percentText(percent) {
    const shown = percent.toFixed(2);
    return (Number(shown) === 0 ? "+0.00" : percent > 0 ? "+" + shown : shown) + "%";
}

function plural(n, word) {
    return n + " " + word + (n === 1 ? "" : "s");
}

function fault(text) {
    d3.select("#fault").attr("hidden", null).text(text);
}

// ---- Files to keep ----

function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], {type}));
    link.download = name.replace(/[^A-Za-z0-9._+-]+/g, "-");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A text with an apostrophe before each character that could begin a formula of a spreadsheet, as in all CSV of vbslab.
function withoutFormulas(text) {
    return text.replace(/[=+\-@\t\r]/g, (begin, at) =>
        at + 1 < text.length && (at === 0 || /[,;\t\r\n]/.test(text[at - 1])) ? "'" + begin : begin);
}

// A field of CSV (RFC 4180).
function csvField(value) {
    const text = value === null || value === undefined ? "" : typeof value === "number" ? String(value) : withoutFormulas(String(value));
    return /[",\n\r]/.test(text) ? "\"" + text.replace(/"/g, "\"\"") + "\"" : text;
}

function csvText(columns, rows) {
    return [columns].concat(rows).map(row => row.map(csvField).join(",") + "\n").join("");
}

// The picture with the colours that it has now, for programs that do not know the page's style.
function svgText(svg) {
    const copy = svg.cloneNode(true), from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
    const properties = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family",
        "font-weight", "text-anchor"];
    from.forEach((element, i) => {
        const style = getComputedStyle(element);
        for (const property of properties) to[i].setAttribute(property, style.getPropertyValue(property));
        to[i].removeAttribute("class");
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.style.background = getComputedStyle(document.body).backgroundColor;
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + new XMLSerializer().serializeToString(copy) + "\n";
}

// ---- Tables and pictures ----

function textOfCell(cell) {
    if (cell === null || cell === undefined) return "-";
    if (typeof cell === "number") return Number.isInteger(cell) ? cell : Number(cell.toPrecision(7));
    return visible(String(typeof cell === "object" ? cell.text : cell));
}

// Gives what a cell shows under the pointer: its title, or a number that is rounded.
function titleOfCell(cell) {
    if (typeof cell === "number") return textOfCell(cell) === cell ? null : cell;
    return cell && cell.title ? visible(String(cell.title)) : null;
}

// Draws a table of texts and numbers; a cell is one of these or {text, title, strong}.
function drawTable(parent, caption, columns, rows) {
    const table = parent.append("table");
    table.append("caption").text(caption + (rows.length > MOST_ROWS ? ": the first " + MOST_ROWS + " of " + rows.length + " rows" : ""));
    table.append("thead").append("tr").selectAll("th").data(columns).enter().append("th").attr("scope", "col").text(d => d);
    const lines = table.append("tbody").selectAll("tr").data(rows.slice(0, MOST_ROWS)).enter().append("tr");
    lines.each(function (row) {
        d3.select(this).selectAll("td").data(row).enter()
            .append((d, i) => document.createElement(i === 0 ? "th" : "td"))
            .attr("scope", (d, i) => i === 0 ? "row" : null)
            .attr("title", titleOfCell)
            .classed("strong", d => d && d.strong)
            .text(textOfCell);
    });
}

// Adds the buttons and the table behind a picture, which is made when it is opened. table() gives
// {caption, columns, rows}.
function addTable(figure, name, table) {
    const details = figure.append("details");
    details.append("summary").text("Table");
    details.on("toggle", () => {
        if (!details.property("open") || !details.select("div").empty()) return;
        const made = table(), box = details.append("div");
        box.append("button").attr("type", "button").text("CSV")
            .on("click", () => save(name + ".csv", "text/csv", csvText(made.columns, made.rows)));
        drawTable(box.append("div").attr("class", "scroll").attr("tabindex", 0), made.caption, made.columns, made.rows);
    });
}

// Begins a picture as wide as its figure: gives {svg, width, height, figure, note}.
function addPicture(parent, className, title, height) {
    const figure = parent.append("figure").attr("class", className);
    const head = figure.append("figcaption");
    head.append("strong").text(title);
    const note = head.append("span").attr("class", "note");
    const width = Math.max(280, Math.floor(figure.node().clientWidth || 640));
    const svg = figure.append("svg").attr("role", "img").attr("aria-label", title).attr("width", width).attr("height", height)
        .attr("viewBox", "0 0 " + width + " " + height);
    head.append("button").attr("type", "button").attr("class", "svg").text("SVG").attr("aria-label", "Save as SVG: " + title)
        .on("click", () => save("vbslab-" + className + ".svg", "image/svg+xml", svgText(svg.node())));
    return {figure, svg, width, height, note};
}

function addAxes(picture, x, y, xTitle, yTitle, margin) {
    const {svg, width, height} = picture;
    svg.append("g").attr("class", "axis").attr("transform", "translate(0," + (height - margin.bottom) + ")").call(x);
    svg.append("g").attr("class", "axis").attr("transform", "translate(" + margin.left + ",0)").call(y);
    svg.append("text").attr("class", "title").attr("x", width - margin.right).attr("y", height - 4).attr("text-anchor", "end").text(xTitle);
    svg.append("text").attr("class", "title").attr("x", 2).attr("y", 11).text(yTitle);
}

// Gives the ends of an axis: from 0 on, or, where all numbers are large, from a little below the least.
function axisEnds(low, high) {
    const space = 0.08 * (high - low);
    return low > 0.5 * high && low < high ? [low - space, high + space] : [0, 1.08 * high || 1];
}

// Gives the space to the left of an axis whose numbers are as long as these.
function axisSpace(scale, n) {
    const format = scale.tickFormat(n);
    return 16 + 7 * d3.max(scale.ticks(n), tick => format(tick).length);
}

// Shows a text beside the pointer.
function addTip(marks, text) {
    const tip = d3.select("#tip");
    marks.on("mousemove", d => {
        tip.attr("hidden", null).text(text(d));
        const box = tip.node().getBoundingClientRect(), x = d3.event.clientX + 14, y = d3.event.clientY + 14;
        tip.style("left", Math.max(4, Math.min(x, innerWidth - box.width - 8)) + "px")
            .style("top", (y + box.height > innerHeight ? y - box.height - 28 : y) + "px");
    }).on("mouseleave", () => tip.attr("hidden", ""));
}

// Gives at most `most` items of a list, of each run of neighbours the one with the largest weight.
function thin(list, most, weight) {
    if (list.length <= most) return list;
    return d3.range(most).map(i => {
        const run = list.slice(Math.floor(i * list.length / most), Math.floor((i + 1) * list.length / most));
        return run[d3.scan(run, (a, b) => weight(b) - weight(a))];
    });
}

function note(picture, text) {
    picture.note.text(" " + text);
}
