// Complete responses: chat, tools, structured output, images, embeddings, models.

import assert from 'node:assert/strict';
import { z } from 'zod';
import { mock, scripted, sim, simulated, test, user, zodResponseFormat } from './kit.js';

export const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather at a place',
    strict: true,
    parameters: {
      type: 'object',
      properties: { place: { type: 'string' }, unit: { type: 'string', enum: ['C', 'F'] } },
      required: ['place', 'unit'],
      additionalProperties: false,
    },
  },
};
// One red pixel.
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

test('chat', async () => {
  const answer = await sim().chat.completions.create({ model: simulated, messages: user('Say hello.') });
  assert.equal(answer.object, 'chat.completion');
  assert.equal(answer.model, simulated);
  assert.equal(answer.choices[0].finish_reason, 'stop');
  assert.equal(answer.choices[0].message.role, 'assistant');
  assert.match(answer.choices[0].message.content, /Say hello\./);
  assert.ok(answer.usage.prompt_tokens > 0 && answer.usage.completion_tokens > 0);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
});

test('chat-auto', async () => {
  const { data, response } = await sim()
    .chat.completions.create({ model: 'auto', messages: user('What is 2+2?') })
    .withResponse();
  assert.match(data.model, /^sim-/);
  assert.equal(response.headers.get('x-fairlead-model'), data.model);
});

test('headers', async () => {
  const { data, response, request_id } = await sim()
    .chat.completions.create({ model: simulated, messages: user('Hello') })
    .withResponse();
  assert.match(data._request_id, /^req_/);
  assert.equal(request_id, data._request_id);
  assert.equal(response.headers.get('x-request-id'), data._request_id);
  assert.equal(response.headers.get('x-fairlead-decision'), 'expected');
  assert.equal(response.headers.get('x-fairlead-model'), simulated);
  assert.equal(response.headers.get('x-fairlead-provider'), 'simulator');
  assert.equal(response.headers.get('x-fairlead-attempts'), '1');
  assert.ok(Number(response.headers.get('x-fairlead-cost')) > 0);
});

test('tool-call', async () => {
  const client = sim();
  const messages = user('Use get_weather for Paris.');
  const first = await client.chat.completions.create({ model: simulated, messages, tools: [weather] });
  assert.equal(first.choices[0].finish_reason, 'tool_calls');
  assert.equal(first.choices[0].message.tool_calls.length, 1);
  const call = first.choices[0].message.tool_calls[0];
  assert.equal(call.function.name, 'get_weather');
  assert.ok(['C', 'F'].includes(JSON.parse(call.function.arguments).unit));
  messages.push(first.choices[0].message, { role: 'tool', tool_call_id: call.id, content: '21 degrees, sunny' });
  const second = await client.chat.completions.create({ model: simulated, messages, tools: [weather] });
  assert.equal(second.choices[0].finish_reason, 'stop');
  assert.match(second.choices[0].message.content, /21 degrees, sunny/);
});

test('tool-calls-parallel', async () => {
  const request = { model: simulated, messages: user('Use get_weather in parallel for Paris and Rome.'), tools: [weather] };
  const answer = await sim().chat.completions.create(request);
  const calls = answer.choices[0].message.tool_calls;
  assert.equal(calls.length, 2);
  assert.notEqual(calls[0].id, calls[1].id);
  const one = await sim().chat.completions.create({ ...request, parallel_tool_calls: false });
  assert.equal(one.choices[0].message.tool_calls.length, 1);
});

test('json-schema-parse', async () => {
  const Solution = z.object({
    steps: z.array(z.object({ explanation: z.string(), result: z.number() })),
    answer: z.string(),
    certain: z.boolean(),
  });
  const answer = await sim().chat.completions.parse({
    model: 'auto',
    messages: user('Solve 3x = 6.'),
    response_format: zodResponseFormat(Solution, 'solution'),
  });
  const parsed = Solution.parse(answer.choices[0].message.parsed);
  assert.ok(parsed.steps.length > 0);
});

test('vision', async () => {
  const parts = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: pixel, detail: 'low' } },
  ];
  const answer = await sim().chat.completions.create({ model: 'auto', messages: user(parts) });
  assert.match(answer.choices[0].message.content, /1 image/);
  assert.ok(['sim-vision', 'sim-medium', 'sim-large', 'sim-flagship'].includes(answer.model), answer.model);
});

const length = (vector) => Math.hypot(...vector);

test('embeddings', async () => {
  const client = sim();
  const input = ['The quick brown fox', 'jumps over the lazy dog', '日本語'];
  const packed = await client.embeddings.create({ model: 'sim-embed-small', input });
  const plain = await client.embeddings.create({ model: 'sim-embed-small', input, encoding_format: 'float' });
  assert.deepEqual(packed.data.map((item) => item.index), [0, 1, 2]);
  assert.ok(packed.usage.prompt_tokens > 0);
  packed.data.forEach(({ embedding }, i) => {
    assert.equal(embedding.length, 1536);
    assert.ok(Math.abs(length(embedding) - 1) < 1e-3, 'the norm of the vector is not 1');
    const apart = Math.max(...embedding.map((x, j) => Math.abs(x - plain.data[i].embedding[j])));
    assert.ok(apart < 1e-6, `base64 and float differ by ${apart}`);
  });
  assert.notDeepEqual(packed.data[0].embedding, packed.data[1].embedding);
});

test('embeddings-dimensions', async () => {
  const answer = await sim().embeddings.create({ model: 'sim-embed-small', input: 'hello', dimensions: 256 });
  assert.equal(answer.data[0].embedding.length, 256);
  assert.ok(Math.abs(length(answer.data[0].embedding) - 1) < 1e-3);
});

test('models-list', async () => {
  const names = [];
  for await (const model of sim().models.list()) names.push(model.id);
  for (const name of ['auto', simulated, 'sim-embed-small']) assert.ok(names.includes(name), `${name} is not in ${names}`);
});

test('models-retrieve', async () => {
  assert.equal((await sim().models.retrieve('auto')).id, 'auto');
  assert.equal((await mock().models.retrieve('vendor/slashed')).id, 'vendor/slashed');
  const answer = await mock().chat.completions.create({ model: 'vendor/slashed', messages: user('Hello') });
  assert.equal(answer.model, 'vendor/slashed');
});

test('unicode', async () => {
  const text = 'naïve 日本語 🚀👩‍👩‍👧 \u2028 \u0000 \t <&> \\ " مرحبا';
  assert.equal(await echo(text), text);
});

test('large-prompt', async () => {
  const text = '0123456789 🚀é '.repeat(60_000); // a bit more than 1 MB
  assert.ok(Buffer.byteLength(text) > 1_000_000);
  assert.ok((await echo(text)) === text, 'the provider received another prompt');
});

/** What the provider received as the prompt. */
async function echo(text) {
  const answer = await mock().chat.completions.create({ model: scripted('echo'), messages: user(text) });
  const received = JSON.parse(answer.choices[0].message.content);
  return JSON.parse(received.body).messages[0].content;
}
