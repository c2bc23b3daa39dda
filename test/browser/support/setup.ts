import { Gateway } from "./gateway";

/** Fails immediately, instead of in every test, when the binary was built without the dashboard. */
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
