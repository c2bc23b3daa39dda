// Runs before the first paint, so that a dark page does not flash white. A file, because the page allows no inline script.
(function () {
  var choice = null;
  try {
    choice = localStorage.getItem("fairlead-theme");
  } catch {
    // Storage may be closed to us; the system's choice is used then.
  }
  var dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
