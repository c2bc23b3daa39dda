// Shared parts of the cases: clients, the list of cases, and requests to the test driver.

const { OPENAI_PACKAGE, SDK_NAME, SIM_URL, SIM_KEY, MOCK_URL, CONTROL_URL } = process.env;

// Two major versions of the client are in use. The driver selects the one for this run.
export const openai = await import(OPENAI_PACKAGE);
export const { zodResponseFormat, zodFunction } = await import(`${OPENAI_PACKAGE}/helpers/zod`);
export const OpenAI = openai.default;
export const simulated = 'sim-small';

const cases = [];

/** Registers a case under the name that the driver expects. */
export function test(name, run) {
  cases.push({ name, run });
}

/** Returns a client of the gateway that serves the simulator. */
export function sim(options) {
  return new OpenAI({ baseURL: SIM_URL, apiKey: SIM_KEY, maxRetries: 0, ...options });
}

/** Returns a client of the gateway in front of the scripted provider. */
export function mock(key = 'MOCK_KEY', options) {
  return new OpenAI({ baseURL: MOCK_URL, apiKey: process.env[key], maxRetries: 0, ...options });
}

/** Returns a model of the scripted provider that only this suite uses. */
export function scripted(name) {
  return `${name}-${SDK_NAME}`;
}

export function user(content) {
  return [{ role: 'user', content }];
}

/** Returns a fetch function that counts the requests. */
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

/** Requests data from the driver: the requests that the provider received, or a log entry. */
export async function control(path, query) {
  const answer = await fetch(`${CONTROL_URL}/${path}?${new URLSearchParams(query)}`);
  if (!answer.ok) throw new Error(`get ${path} of the driver: status ${answer.status}`);
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

/** Runs every case, or the cases listed in CASES, and prints one line for each. It resolves to the number of failures. */
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
