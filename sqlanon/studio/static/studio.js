// What the pages do beyond links and forms: keys on the screen Columns, copying, and hiding values when one leaves.
"use strict";

// Arrows up and down move between columns, 1 to 6 choose a role. Left and right are the browser's own.
document.addEventListener("keydown", (event) => {
  const row = event.target.closest("[data-column]");
  if (!row || event.ctrlKey || event.altKey || event.metaKey || event.target.type !== "radio") return;
  const rows = [...document.querySelectorAll("[data-column]")];
  const radios = [...row.querySelectorAll('input[type="radio"]')];
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const next = rows[rows.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)];
    event.preventDefault();
    if (next) (next.querySelector('input[type="radio"]:checked') || next.querySelector("input")).focus();
  } else if (/^[1-6]$/.test(event.key)) {
    const radio = radios[Number(event.key) - 1];
    event.preventDefault();
    radio.focus();
    if (!radio.checked) radio.click();
  }
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const code = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    getSelection().selectAllChildren(code);
    document.execCommand("copy");
  }
  const said = button.firstChild;
  said.textContent = "Copied";
  setTimeout(() => { said.textContent = "Copy"; }, 1500);
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

// Values that somebody asked to see are gone once the page is left, even if the browser keeps the page.
addEventListener("pagehide", () => {
  document.querySelectorAll("[data-secret]").forEach((element) => element.remove());
});

document.querySelectorAll("[data-reload]").forEach((element) => {
  setTimeout(() => location.reload(), Number(element.dataset.reload));
});
