import { test } from "../support/fixtures";
import { firstRun, keyboard } from "../support/firstrun";
import { Gateway } from "../support/gateway";
import { Upstream } from "../support/upstream";

let gateway: Gateway;
let upstream: Upstream;

test.beforeAll(async () => {
  upstream = await Upstream.start();
  upstream.models = ["gpt-4.1", "gpt-4.1-mini", "gpt-5-nano", "house-model"];
  upstream.key = "sk-mock-0123456789f3Qa";
  gateway = await Gateway.start({ config: "allow_private_upstreams: [127.0.0.0/8]\n" });
});

// eslint-disable-next-line no-empty-pattern -- required by Playwright
test.afterEach(({}, info) => {
  if (info.status !== info.expectedStatus) {
    console.log(gateway.log());
  }
});

test.afterAll(async () => {
  await gateway?.stop();
  await upstream?.kill();
});

test("a new user connects a provider and reads the first request using only the keyboard", async ({
  page,
  watch,
}) => {
  await firstRun(page, watch, gateway, upstream, keyboard(page));
});
