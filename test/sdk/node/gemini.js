// Tests the gateway's Gemini API with Google's client for JavaScript.

import assert from 'node:assert/strict';

import { ApiError, GoogleGenAI } from '@google/genai';

import { GREETING } from './errands.js';
import { refused, runAll, test } from './kit.js';

const { VENDOR_URL, VENDOR_KEY, VENDOR_MODEL: model } = process.env;
const make = (apiKey) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: VENDOR_URL } });
const client = make(VENDOR_KEY);
const answer = `You said "Hello". ${GREETING}`;

test('chat', async () => {
  const response = await client.models.generateContent({ model, contents: 'Hello' });
  assert.equal(response.text, answer);
  assert.equal(response.candidates[0].finishReason, 'STOP');
  assert.equal(response.modelVersion, model);
});

test('stream', async () => {
  let text = '';
  let chunks = 0;
  for await (const chunk of await client.models.generateContentStream({ model, contents: 'Hello' })) {
    text += chunk.text ?? '';
    chunks++;
  }
  assert.equal(text, answer);
  assert(chunks > 3, `got ${chunks} chunks, want more than 3`);
});

test('tool-call', async () => {
  const parametersJsonSchema = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a', 'b'] };
  const config = {
    tools: [{ functionDeclarations: [{ name: 'add', description: 'A tool', parametersJsonSchema }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['add'] } },
  };
  const [call] = (await client.models.generateContent({ model, contents: 'Hi', config })).functionCalls;
  assert.deepEqual([call.name, Object.keys(call.args).sort()], ['add', ['a', 'b']]);
});

test('embeddings', async () => {
  const config = { outputDimensionality: 256 };
  const { embeddings } = await client.models.embedContent({ model: process.env.VENDOR_EMBEDDING, contents: ['a', 'b'], config });
  assert.deepEqual(embeddings.map((item) => item.values.length), [256, 256]);
  assert.notDeepEqual(embeddings[0].values, embeddings[1].values);
});

test('models', async () => {
  const names = [];
  for await (const listed of await client.models.list()) names.push(listed.name);
  assert(names.includes(`models/${model}`), String(names));
});

test('count-tokens', async () => {
  assert((await client.models.countTokens({ model, contents: 'Hello there' })).totalTokens > 0);
});

test('gateway-errors', async () => {
  assert.equal((await refused(ApiError, client.models.generateContent({ model: 'no-such-model', contents: 'Hi' }))).status, 404);
  assert.equal((await refused(ApiError, make('fl_wrong').models.generateContent({ model, contents: 'Hi' }))).status, 401);
});

process.exit((await runAll()) ? 1 : 0);
