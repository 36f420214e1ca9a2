"use strict";
for (const filter of document.querySelectorAll(".filter")) {
  const rows = [...document.querySelectorAll("[data-verdict]")];
  const search = filter.querySelector("input[type=search]");
  const boxes = [...filter.querySelectorAll("input[type=checkbox]")];
  const shown = filter.querySelector("output");
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const apply = () => {
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      row.hidden = !wanted.has(row.dataset.verdict) || !words.every((word) => texts.get(row).includes(word));
      count += !row.hidden && row.tagName === "ARTICLE";
    }
    shown.textContent = `${count.toLocaleString("en")} shown`;
  };
  filter.hidden = false;
  filter.addEventListener("input", apply);
  apply();
}
addEventListener("beforeprint", () => {
  for (const data of document.querySelectorAll("details.data")) data.open = true;
});
