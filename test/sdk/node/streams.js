// Streams: the client's helpers, the end of a stream, and disconnects.

import assert from 'node:assert/strict';
import { weather } from './answers.js';
import { control, mock, openai, refused, scripted, sim, simulated, test, user } from './kit.js';

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

test('stream-usage', async () => {
  const stream = await sim().chat.completions.create({
    model: simulated,
    messages: user('Tell me more.'),
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = await collect(stream);
  const text = chunks.map((c) => c.choices[0]?.delta.content ?? '').join('');
  assert.match(text, /Tell me more\./);
  assert.equal(new Set(chunks.map((c) => c.id)).size, 1);
  assert.deepEqual([...new Set(chunks.map((c) => c.model))], [simulated]);
  assert.deepEqual(chunks.map((c) => c.choices[0]?.finish_reason).filter(Boolean), ['stop']);
  assert.equal(chunks.filter((c) => c.usage).length, 1);
  const last = chunks.at(-1);
  assert.deepEqual(last.choices, []);
  assert.equal(last.usage.total_tokens, last.usage.prompt_tokens + last.usage.completion_tokens);
  assert.ok(last.usage.completion_tokens > 0);
});

test('stream-without-usage', async () => {
  const chunks = await collect(await sim().chat.completions.create({ model: simulated, messages: user('Hi.'), stream: true }));
  assert.ok(chunks.every((c) => c.choices.length > 0), 'an unexpected chunk without choices');
  assert.ok(!chunks.some((c) => c.usage), 'unexpected usage');
});

test('stream-helper', async () => {
  const stream = sim().chat.completions.stream({
    model: 'auto',
    messages: user('What is a knot?'),
    stream_options: { include_usage: true },
  });
  let text = '';
  stream.on('content', (delta) => (text += delta));
  const answer = await stream.finalChatCompletion();
  assert.equal(answer.choices[0].message.content, text);
  assert.match(answer.model, /^sim-/);
  assert.ok((await stream.totalUsage()).total_tokens > 0);
});

test('tool-call-streamed', async () => {
  const stream = sim().chat.completions.stream({
    model: simulated,
    messages: user('Use get_weather in parallel for Paris and Rome.'),
    tools: [weather],
  });
  const done = [];
  stream.on('tool_calls.function.arguments.done', (event) => done.push(event));
  const answer = await stream.finalChatCompletion();
  assert.equal(answer.choices[0].finish_reason, 'tool_calls');
  assert.equal(done.length, 2);
  answer.choices[0].message.tool_calls.forEach((call, i) => {
    assert.equal(call.function.name, 'get_weather');
    assert.equal(call.function.arguments, done[i].arguments);
    assert.ok(['C', 'F'].includes(JSON.parse(call.function.arguments).unit));
  });
});

test('stream-error-before-first-token', async () => {
  const request = { model: scripted('down'), messages: user('Hi'), stream: true };
  const error = await refused(openai.InternalServerError, mock().chat.completions.create(request));
  assert.equal(error.status, 502);
});

test('error-mid-stream', async () => {
  const request = { model: scripted('cut'), messages: user('Hi'), stream: true };
  const { data: stream, request_id } = await mock().chat.completions.create(request).withResponse();
  let text = '';
  const read = async () => {
    for await (const chunk of stream) text += chunk.choices[0].delta.content ?? '';
  };
  const error = await refused(openai.APIError, read());
  assert.ok(text, 'no text before the error');
  assert.ok(error.error, 'the error event was not read');
  assert.equal((await control('entry', { id: request_id })).outcome, 'partial');
});

test('abort', async () => {
  const request = { model: scripted('endless'), messages: user('Hi'), stream: true };
  const { data: stream, request_id } = await mock().chat.completions.create(request).withResponse();
  for await (const _ of stream) stream.controller.abort();
  await control('gone', { model: scripted('endless') });
  assert.equal((await control('entry', { id: request_id })).outcome, 'cancelled');
});
