import { beforeEach, describe, expect, it, vi } from "vitest";

import { isLoadError, isNewVersion, reloadOnce } from "./newVersion";

describe("isLoadError", () => {
  it.each([
    ["Unable to preload CSS for /assets/KeysPage-C3.css", true],
    ["Failed to fetch dynamically imported module: http://x/assets/a.js", true],
    ["error loading dynamically imported module: http://x/assets/a.js", true],
    ["Importing a module script failed.", true],
    ["x is not a function", false],
  ])("%s", (message, expected) => {
    expect(isLoadError(new TypeError(message))).toBe(expected);
  });
});

describe("reloadOnce", () => {
  const reload = vi.fn();
  const respond = (response: Promise<Response>) => vi.spyOn(window, "fetch").mockReturnValue(response);
  beforeEach(() => {
    sessionStorage.clear();
    reload.mockClear();
  });

  it("reloads once per minute", async () => {
    respond(Promise.resolve(new Response()));
    expect(await reloadOnce(reload, 1_000_000)).toBe(true);
    expect(await reloadOnce(reload, 1_030_000)).toBe(false);
    expect(reload).toHaveBeenCalledTimes(1);
    expect(await reloadOnce(reload, 1_070_000)).toBe(true);
  });

  it("reloads once when two parts of the page fail at the same time", async () => {
    vi.spyOn(window, "fetch").mockImplementation(() => Promise.resolve(new Response()));
    const reloads = [reloadOnce(reload, 2_000_000), reloadOnce(reload, 2_000_000)];
    expect(await Promise.all(reloads)).toEqual([true, false]);
    expect(reload).toHaveBeenCalledTimes(1);
  });

  it.each<[string, () => Promise<Response>]>([
    ["cannot be reached", () => Promise.reject(new TypeError("Failed to fetch"))],
    ["is not healthy", () => Promise.resolve(new Response("", { status: 503 }))],
  ])("does not reload while the gateway %s", async (_, response) => {
    respond(response());
    expect(await reloadOnce(reload)).toBe(false);
    expect(reload).not.toHaveBeenCalled();
  });
});

describe("reloadOnce without session storage", () => {
  it("does not reload, because it could loop", async () => {
    const reload = vi.fn();
    vi.spyOn(window, "fetch").mockResolvedValue(new Response());
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("denied");
    });
    expect(await reloadOnce(reload, 9_000_000)).toBe(false);
    expect(reload).not.toHaveBeenCalled();
  });
});

describe("isNewVersion", () => {
  it.each([
    ["1.2.0", "1.2.0", false],
    ["1.2.0", "1.3.0", true],
    ["__VERSION__", "1.3.0", false],
  ])("page %s, gateway %s", (loaded, running, expected) => {
    document.head.innerHTML = `<meta name="fairlead-version" content="${loaded}">`;
    expect(isNewVersion(running)).toBe(expected);
  });
});
