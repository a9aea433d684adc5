// The page "What we found": filters of the claims, variants on demand, and the way to a head of the atlas.
document.addEventListener("DOMContentLoaded", () => {
  const choices = [...document.querySelectorAll(".filter select")];
  const rows = [...document.querySelectorAll("table.forest tr[data-study]")];
  const show = () => {
    const asked = choices.filter((choice) => choice.value);
    for (const row of rows) {
      const fits = asked.every((choice) => row.dataset[choice.dataset.of] === choice.value);
      // Without a choice of verdict or group, variants are folded below the first claim.
      row.hidden = !fits || (row.classList.contains("variant") && !asked.some((choice) => choice.dataset.of !== "study") && !row.dataset.open);
    }
    for (const part of document.querySelectorAll("details.forest")) {
      part.hidden = ![...part.querySelectorAll("tr[data-study]")].some((row) => !row.hidden);
      if (asked.length) part.open = true;
    }
  };
  for (const choice of choices) choice.addEventListener("change", show);
  for (const button of document.querySelectorAll("table.forest button")) {
    button.addEventListener("click", () => {
      for (let row = button.closest("tr").nextElementSibling; row?.classList.contains("variant"); row = row.nextElementSibling) {
        row.dataset.open = row.dataset.open ? "" : "yes";
      }
      show();
    });
  }
  show();
  document.querySelector(".to-atlas")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const { page } = event.target.dataset;
    location.href = `${page}#${new URLSearchParams({ search: event.target.querySelector("input").value })}`;
  });
});
