// Tables: a header sorts its column, and a box filters the rows.
const collator = new Intl.Collator("en", { numeric: true });
const value = (row, j) => row.cells[j]?.dataset.v ?? row.cells[j]?.textContent.trim() ?? "";

function sort(table, j) {
  const header = table.tHead.rows[0].cells[j];
  const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => ({ row, key: value(row, j), place: Number(row.dataset.place) }));
  const known = keyed.filter(({ key }) => key !== "");
  const numbers = known.every(({ key }) => Number.isFinite(Number(key)));
  const compare = numbers ? (a, b) => Number(a) - Number(b) : collator.compare;
  // empty cells come last both ways, and equal ones stay in the order of the page
  known.sort((a, b) => sign * compare(a.key, b.key) || a.place - b.place);
  const empty = keyed.filter(({ key }) => key === "").sort((a, b) => a.place - b.place);
  body.append(...[...known, ...empty].map(({ row }) => row));
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
}

for (const table of all("table.sortable")) {
  [...table.tBodies[0].rows].forEach((row, i) => { row.dataset.place = i; });
  [...table.tHead.rows[0].cells].forEach((header, j) => {
    if (header.classList.contains("unsorted")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(table, j));
    header.append(button);
  });
}

for (const box of all("input[data-filter]")) {
  const lines = [...document.getElementById(box.dataset.filter).tBodies[0].rows];
  const said = box.closest("label").querySelector("output");
  box.addEventListener("input", () => {
    const wanted = box.value.trim().toLowerCase();
    for (const line of lines) line.hidden = !(line.dataset.name ?? line.textContent).toLowerCase().includes(wanted);
    said.textContent = wanted ? `${lines.filter((line) => !line.hidden).length} of ${lines.length}` : "";
  });
}
