// Runs before the first paint, so that a dark page does not flash white. The CSP forbids inline scripts, hence a file.
(function () {
  var choice = null;
  try {
    choice = localStorage.getItem("fairlead-theme");
  } catch {
    // Local storage is unavailable: use the system setting.
  }
  var dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
