// What the cases share: clients, the list of cases, and questions to the test driver.

const { OPENAI_PACKAGE, SDK_NAME, SIM_URL, SIM_KEY, MOCK_URL, CONTROL_URL } = process.env;

// Two major versions of the client are in use; the driver says which one this run is about.
export const openai = await import(OPENAI_PACKAGE);
export const { zodResponseFormat, zodFunction } = await import(`${OPENAI_PACKAGE}/helpers/zod`);
export const OpenAI = openai.default;
export const simulated = 'sim-small';

const cases = [];

/** Registers a case under the name that the driver expects. */
export function test(name, run) {
  cases.push({ name, run });
}

/** A client of the gateway that serves the simulator. */
export function sim(options) {
  return new OpenAI({ baseURL: SIM_URL, apiKey: SIM_KEY, maxRetries: 0, ...options });
}

/** A client of the gateway in front of the scripted provider. */
export function mock(key = 'MOCK_KEY', options) {
  return new OpenAI({ baseURL: MOCK_URL, apiKey: process.env[key], maxRetries: 0, ...options });
}

/** A model of the scripted provider that is this suite's own. */
export function scripted(name) {
  return `${name}-${SDK_NAME}`;
}

export function user(content) {
  return [{ role: 'user', content }];
}

/** A fetch that counts what is really sent. */
export function counter() {
  const counted = {
    sent: 0,
    fetch(...args) {
      counted.sent++;
      return fetch(...args);
    },
  };
  return counted;
}

/** Asks the driver what the provider saw and what was logged. */
export async function control(path, query) {
  const answer = await fetch(`${CONTROL_URL}/${path}?${new URLSearchParams(query)}`);
  if (!answer.ok) throw new Error(`the driver answered ${answer.status} to ${path}`);
  return answer.json();
}

/** Awaits promise, which must fail with exactly this class, and returns the error. */
export async function refused(kind, promise) {
  try {
    await promise;
  } catch (error) {
    if (error.constructor === kind) return error;
    throw new Error(`failed with ${error.constructor.name}, want ${kind.name}: ${error.message}`);
  }
  throw new Error(`did not fail with ${kind.name}`);
}

/** Runs every case, or those that CASES names, and prints one line each; resolves to how many failed. */
export async function runAll() {
  let failed = 0;
  const wanted = process.env.CASES?.split(',');
  for (const { name, run } of cases.filter((c) => !wanted || wanted.includes(c.name))) {
    const began = performance.now();
    try {
      await run();
      console.log(`ok ${name} ${((performance.now() - began) / 1000).toFixed(2)}s`);
    } catch (error) {
      failed++;
      console.log(`FAIL ${name}: ${String(error.message).replaceAll('\n', ' ').slice(0, 2000)}`);
      console.error(error);
    }
  }
  return failed;
}
