// Tables of few rows: a button in every heading sorts by its column; numbers by value, texts by alphabet, empty cells last.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const headings = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    return headings[column].classList.contains("number") ? cell.dataset.order ?? "" : cell.textContent.trim();
  };
  headings.forEach((heading, column) => {
    const numeric = heading.classList.contains("number");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keyed = [...table.tBodies[0].rows].map((row) => [key(row, column), row]);
      keyed.sort(([a], [b]) => {
        if (a === "" || b === "") return (a === "") - (b === "");
        const order = numeric ? a - b : a.localeCompare(b, "en", { numeric: true });
        return down ? -order : order;
      });
      table.tBodies[0].append(...keyed.map(([, row]) => row));
    });
  });
}
