// Runs before the scripts of the dashboard have loaded. The CSP forbids inline scripts, hence a file.

// Sets the color scheme before the first paint, so that a dark page does not flash white.
(function () {
  var choice = stored("theme");
  var dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");

  // Starts the API calls of the Overview. src/api/early.ts takes their responses if it makes the same calls.
  var calls = (window.fairleadEarly = new Map());
  get("/api/v1/session").then(function (session) {
    var id = stored("workspace");
    var workspaces = (session.account && session.workspaces) || [];
    var workspace = workspaces.find((one) => one.id === id) || workspaces[0];
    if (
      location.pathname === "/" &&
      !location.search &&
      workspace &&
      workspace.permissions.includes("read_figures")
    ) {
      get(
        "/api/v1/overview?from=now-24h" +
          (session.server.simulated ? "" : "&simulated=false") +
          "&source=key" +
          (id ? "&workspace=" + encodeURIComponent(workspace.id) : ""),
      ).catch(ignore);
    }
  }, ignore);

  function get(url) {
    var call = fetch(url);
    calls.set(url, call);
    return call.then((response) => response.clone().json());
  }
  function ignore() {
    // The dashboard shows the error.
  }
  function stored(name) {
    try {
      return localStorage.getItem("fairlead-" + name);
    } catch {
      return null; // local storage is unavailable
    }
  }
})();
