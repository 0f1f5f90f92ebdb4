"use strict";
const LETTER = { p: "P", s: "S", n: "", ".": "–" };
const CLASS = { p: "p", s: "s", r: "r", n: "n", ".": "e", o: "" };
const WORD = { p: "primary", s: "secondary", r: "rounded or with noise", n: "not listed", e: "no such cell", "": "open" };

function grouped(number, decimals) {
  const [whole, rest] = Math.abs(number).toFixed(decimals).split(".");
  const parts = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return (number < 0 ? "−" : "") + parts + (rest ? "." + rest : "");
}

/** One path for all cells of a mark, neighbours in a row joined. */
function runs(marks, wide, letter) {
  let path = "";
  for (let at = 0; at < marks.length; at++) {
    if (marks[at] !== letter) continue;
    const first = at;
    while ((at + 1) % wide && marks[at + 1] === letter) at++;
    path += `M${first % wide} ${Math.floor(first / wide)}h${at - first + 1}v1h-${at - first + 1}z`;
  }
  return path;
}

function start(view) {
  const grid = view.querySelector("table.grid");
  const head = [...grid.tHead.rows[0].cells].slice(1);
  const rows = [...grid.tBodies[0].rows];
  const map = view.querySelector("svg.map");
  const levels = view.querySelector("form.levels");
  const others = view.querySelector("form.others");
  const store = view.querySelector('script[type="application/json"]');
  const slices = store ? JSON.parse(store.textContent) : [];
  const decimals = Math.max(0, Number(view.dataset.decimals));
  const style = document.head.appendChild(document.createElement("style"));

  function fill() {
    const wanted = [...others.querySelectorAll("select")].map((choice) => choice.value);
    const slice = slices.find((one) => one.codes.every((code, i) => code === wanted[i]));
    const marks = slice ? slice.marks : ".".repeat(rows.length * head.length);
    rows.forEach((row, y) => head.forEach((_, x) => {
      const at = y * head.length + x;
      const value = slice && slice.values ? slice.values[at] : null;
      const cell = row.cells[x + 1];
      cell.className = CLASS[marks[at]];
      cell.textContent = "or".includes(marks[at]) ? (value === null ? "·" : grouped(value, decimals)) : LETTER[marks[at]];
    }));
    map.querySelectorAll("path[data-mark]").forEach((path) => path.setAttribute("d", runs(marks, head.length, path.dataset.mark)));
  }

  function fold() {
    const deepest = levels.elements.rows ? Number(levels.elements.rows.value) : Infinity;
    const widest = levels.elements.columns ? Number(levels.elements.columns.value) : Infinity;
    const only = levels.elements.hidden?.checked;
    for (const row of rows) {
      row.hidden = Number(row.dataset.l) > deepest || (only && !row.querySelector("td.p, td.s"));
    }
    const away = head.flatMap((cell, x) => (Number(cell.dataset.l) > widest ? [`#${view.id} .grid tr > :nth-child(${x + 2})`] : []));
    style.textContent = away.length ? `${away.join(",")}{display:none}` : "";
  }

  levels.hidden = false;
  levels.addEventListener("change", fold);
  if (others && slices.length) {
    others.hidden = false;
    others.addEventListener("change", () => { fill(); fold(); });
  }

  const says = view.querySelector("figcaption output");
  const frame = Object.fromEntries(["left", "top", "w", "h"].map((name) => [name, Number(map.dataset[name])]));
  map.addEventListener("mousemove", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    const column = head[Math.floor((point.x - frame.left) / frame.w)];
    const row = rows[Math.floor((point.y - frame.top) / frame.h)];
    const cell = row && column && row.cells[column.cellIndex];
    says.textContent = cell ? `${row.cells[0].textContent} × ${column.textContent}: ${WORD[cell.className]}` : "";
  });
  map.addEventListener("mouseleave", () => { says.textContent = ""; });
}

document.querySelectorAll("section.view").forEach(start);
