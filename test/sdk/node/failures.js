// Every class of error that the client distinguishes, and the requests that it retries.

import assert from 'node:assert/strict';
import { control, counter, mock, openai, refused, scripted, sim, test, user } from './kit.js';

function ask(client, model = 'sim-nano', messages = user('Hi')) {
  return client.chat.completions.create({ model, messages });
}

/** Checks the fields of the error. The client keeps the status, the message, the headers and the request id, and drops the rest. */
function told(error, status, code) {
  assert.equal(error.status, status);
  assert.equal(error.headers.get('x-fairlead-error-code'), code);
  assert.match(error.requestID, /^req_/);
  assert.equal(typeof error.error, 'string');
  assert.ok(error.message.includes(JSON.stringify(error.error)), error.message);
  assert.match(error.headers.get('x-should-retry'), /^(true|false)$/);
}

test('error-401', async () => {
  told(await refused(openai.AuthenticationError, ask(sim({ apiKey: 'fl_wrong' }))), 401, 'INVALID_API_KEY');
});

test('error-403-scope', async () => {
  told(await refused(openai.PermissionDeniedError, ask(mock('READ_KEY'), 'vendor/slashed')), 403, 'SCOPE_DENIED');
});

test('error-403-model', async () => {
  told(await refused(openai.PermissionDeniedError, ask(mock('NARROW_KEY'), scripted('echo'))), 403, 'MODEL_NOT_ALLOWED');
});

test('error-404', async () => {
  const error = await refused(openai.NotFoundError, ask(sim(), 'sim-smal'));
  told(error, 404, 'MODEL_NOT_FOUND');
  assert.match(error.message, /sim-small/, 'the message must contain the suggestion, because the client shows only the message');
  told(await refused(openai.NotFoundError, sim().models.retrieve('sim-smal')), 404, 'MODEL_NOT_FOUND');
});

test('error-400', async () => {
  told(await refused(openai.BadRequestError, ask(sim(), 'sim-nano', [])), 400, 'INVALID_REQUEST');
});

test('error-413', async () => {
  const error = await refused(openai.APIError, ask(mock(), scripted('echo'), user('x'.repeat(5_000_000))));
  told(error, 413, 'PAYLOAD_TOO_LARGE');
});

test('error-422', async () => {
  const error = await refused(openai.UnprocessableEntityError, ask(mock(), scripted('unprocessable')));
  told(error, 422, 'PROVIDER_UPSTREAM_ERROR');
});

test('error-429', async () => {
  const client = mock('LIMITED_KEY');
  await ask(client, 'vendor/slashed');
  const error = await refused(openai.RateLimitError, ask(client, 'vendor/slashed'));
  told(error, 429, 'RATE_LIMITED');
  const wait = Number(error.headers.get('retry-after'));
  assert.ok(wait >= 1 && wait <= 60, `Retry-After is ${wait}`);
});

test('error-502', async () => {
  told(await refused(openai.InternalServerError, ask(mock(), scripted('dead'))), 502, 'PROVIDER_UPSTREAM_ERROR');
});

test('retry-503', async () => {
  const counted = counter();
  await ask(mock('MOCK_KEY', { maxRetries: 2, fetch: counted.fetch }), scripted('flaky'));
  assert.equal(counted.sent, 2);
  assert.equal((await control('calls', { model: scripted('flaky') })).calls, 2);
});

test('retry-after', async () => {
  const counted = counter();
  const began = performance.now();
  await ask(mock('MOCK_KEY', { maxRetries: 2, fetch: counted.fetch }), scripted('busy'));
  const took = performance.now() - began;
  assert.ok(took >= 2000 && took < 20000, `the response took ${Math.round(took)} ms, want 2 s to 20 s with Retry-After 2`);
  assert.equal(counted.sent, 2);
});

test('budget-not-retried', async () => {
  const counted = counter();
  const client = mock('BROKE_KEY', { maxRetries: 2, fetch: counted.fetch });
  told(await refused(openai.APIError, ask(client, 'vendor/slashed')), 402, 'BUDGET_EXCEEDED');
  assert.equal(counted.sent, 1);
});
