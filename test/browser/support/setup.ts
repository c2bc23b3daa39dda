import { Gateway } from "./gateway";

/** Fails at once, and not in every test, when the binary carries only the page that stands in for the dashboard. */
export default async function setup(): Promise<void> {
  const gateway = await Gateway.start();
  try {
    const page = await (await fetch(gateway.url)).text();
    if (!page.includes('type="module"')) {
      throw new Error("the binary was built without the dashboard; run `make build`");
    }
  } finally {
    await gateway.stop();
  }
}
