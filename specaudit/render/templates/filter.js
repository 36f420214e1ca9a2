"use strict";
for (const filter of document.querySelectorAll(".filter")) {
  const search = filter.querySelector("input[type=search]");
  const boxes = [...filter.querySelectorAll("input[type=checkbox]")];
  const shown = filter.querySelector("output");
  let rows = null;
  const apply = () => {
    rows ??= [...document.querySelectorAll("[data-verdict]")].map((row) => [row, row.textContent.toLowerCase()]);
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [row, text] of rows) {
      const hidden = !wanted.has(row.dataset.verdict) || !words.every((word) => text.includes(word));
      if (row.hidden !== hidden) row.hidden = hidden;
      count += !hidden && row.tagName === "ARTICLE";
    }
    shown.textContent = `${count.toLocaleString("en")} shown`;
  };
  filter.hidden = false;
  filter.addEventListener("input", apply);
  filter.addEventListener("submit", (event) => event.preventDefault());
}
addEventListener("beforeprint", () => {
  for (const data of document.querySelectorAll("details.data")) data.open = true;
});
