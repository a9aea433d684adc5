// Tables of many rows: DataTables sorts and filters them, and rows fold by group. `tableLibrary` has the exports of its bundle.
"use strict";
const element = document.querySelector("table");
const tools = document.querySelector(".tools");
const headings = [...element.tHead.rows[0].cells];
const names = headings.map((heading) => heading.textContent.trim());
const columnOf = (role) => headings.findIndex((heading) => heading.dataset.role === role);
const [groupColumn, markColumn] = [columnOf("group"), columnOf("mark")];
// Texts of all cells, by row, before the library takes rows out of the page.
const texts = new Map([...element.tBodies[0].rows].map((row) => [row, [...row.cells].map((cell) => cell.textContent.trim())]));
const rows = [...texts.keys()];
const groups = groupColumn < 0 ? [] : [...new Set([...texts.values()].map((cells) => cells[groupColumn]))];
const opened = new Set(groups.length === 1 ? groups : []);
const chosen = new Map();
let sought = "";

const isFiltered = () => sought !== "" || [...chosen.values()].some((value) => value !== "");

function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

// The heading of a group: a button that shows or hides its rows, and how many rows there are of each mark.
function groupHeading(api) {
  const members = api.nodes().toArray();
  const group = texts.get(members[0])[groupColumn];
  const open = opened.has(group) || isFiltered();
  for (const row of members) row.hidden = !open;
  const line = document.createElement("tr");
  line.className = "group";
  const cell = line.appendChild(document.createElement("th"));
  cell.colSpan = headings.length - 1;
  cell.scope = "rowgroup";
  const button = cell.appendChild(document.createElement("button"));
  button.type = "button";
  button.setAttribute("aria-expanded", String(open));
  button.append(group);
  const marks = markColumn < 0 ? [] : [...counted(members.map((row) => texts.get(row)[markColumn]))];
  marks.sort((a, b) => b[1] - a[1]);
  const note = button.appendChild(document.createElement("span"));
  note.textContent = marks.map(([mark, count]) => `${count} ${mark}`).join(", ") || `${members.length} rows`;
  button.addEventListener("click", () => {
    if (!opened.delete(group)) opened.add(group);
    table.draw(false);
    const again = [...element.querySelectorAll("tr.group button")].find((each) => each.firstChild.data === group);
    again?.focus();
  });
  return line;
}

const folding = {
  orderFixed: { pre: [[groupColumn, "asc"]] },
  rowGroup: { dataSrc: `${groupColumn}.display`, startRender: groupHeading },
};
const numeric = headings.flatMap((heading, column) => (heading.classList.contains("number") ? [column] : []));
const table = new tableLibrary.default(element, {
  autoWidth: false,
  columnDefs: [{ targets: numeric, type: "num" }, ...(groupColumn < 0 ? [] : [{ targets: groupColumn, visible: false }])],
  layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
  order: [],
  paging: false,
  ...(groupColumn < 0 ? {} : folding),
});

function labelled(title, control) {
  const label = tools.appendChild(document.createElement("label"));
  label.append(title, control);
  return control;
}

const input = labelled("Filter rows", document.createElement("input"));
input.type = "search";
input.addEventListener("input", () => {
  sought = input.value;
  table.search(sought).draw();
});
table.search.fixed("chosen", (text, data, index) =>
  [...chosen].every(([column, value]) => value === "" || texts.get(rows[index])[column] === value));
const filters = headings.map((heading, column) => column).filter((column) => headings[column].dataset.filter !== undefined);
filters.slice(0, 4).forEach((column) => {
  const select = labelled(names[column], document.createElement("select"));
  select.append(new Option("all", ""));
  for (const [value, count] of counted([...texts.values()].map((cells) => cells[column])))
    if (value !== "") select.append(new Option(`${value} (${count})`, value));
  select.addEventListener("change", () => {
    chosen.set(column, select.value);
    table.draw();
  });
});
if (groups.length > 1)
  for (const [title, wanted] of [["Open all", groups], ["Close all", []]]) {
    const button = tools.appendChild(document.createElement("button"));
    button.type = "button";
    button.append(title);
    button.addEventListener("click", () => {
      opened.clear();
      for (const group of wanted) opened.add(group);
      table.draw(false);
    });
  }
const status = tools.appendChild(document.createElement("output"));
const say = () => (status.textContent = `${table.rows({ search: "applied" }).count()} of ${rows.length} rows`);
table.on("draw", say);
say();
