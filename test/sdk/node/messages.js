// Tests the Messages API of the gateway with the official client of the vendor.

import assert from 'node:assert/strict';

import Anthropic from '@anthropic-ai/sdk';

import { COUNT, DECLARED, GREETING, LOOP, PERSON, PIXEL, SEEN, STEPS, SUMMARY, isPerson, perform } from './errands.js';
import { refused, runAll, test } from './kit.js';

const { VENDOR_URL, VENDOR_KEY, VENDOR_MODEL } = process.env;
const model = VENDOR_MODEL ?? 'claude-sonnet-4-5-20250929';
const newest = 'claude-opus-4-7';
const client = new Anthropic({ baseURL: VENDOR_URL, apiKey: VENDOR_KEY, maxRetries: 0, logLevel: 'off' });
const tools = Object.entries(DECLARED).map(([name, input_schema]) => ({ name, description: 'A tool', input_schema }));
const user = (content) => [{ role: 'user', content }];
const budget = { type: 'enabled', budget_tokens: 2048 };

const whole = (messages, fields) => client.messages.create({ model, max_tokens: 4096, messages, ...fields });
/** Returns the complete message, assembled by the client's helper. */
const streamed = (messages, fields) => client.messages.stream({ model, max_tokens: 4096, messages, ...fields }).finalMessage();
const text = (message) => message.content.map((block) => block.text ?? '').join('');
const types = (message) => message.content.map((block) => block.type);

/** Runs the tools until the vendor returns an answer; resolves to the vendor's messages. */
async function loop(create, fields) {
  let messages = user(LOOP);
  const turns = [];
  for (;;) {
    const answer = await create(messages, { tools, ...fields });
    turns.push(answer);
    const uses = answer.content.filter((block) => block.type === 'tool_use');
    if (!uses.length) return turns;
    assert.equal(answer.stop_reason, 'tool_use');
    const results = uses.map((use) => ({ type: 'tool_result', tool_use_id: use.id, content: perform(use.name, use.input) }));
    messages = [...messages, { role: 'assistant', content: answer.content }, { role: 'user', content: results }];
  }
}

function checkLoop(turns) {
  const steps = turns.slice(0, -1).map((turn) => turn.content.filter((b) => b.type === 'tool_use').map((b) => b.name));
  assert.deepEqual(steps, STEPS);
  assert.equal(text(turns.at(-1)), SUMMARY);
}

test('chat', async () => {
  const answer = await whole(user('Hello'), { system: 'Be brief.' });
  assert.equal(text(answer), `You said "Hello". The system said "Be brief.". ${GREETING}`);
  assert.deepEqual([answer.stop_reason, answer.model, answer.role], ['end_turn', model, 'assistant']);
  assert(answer.usage.input_tokens > 0 && answer.usage.output_tokens > 0);
});

test('request-id', async () => {
  const { request_id } = await client.messages.create({ model, max_tokens: 100, messages: user('Hello') }).withResponse();
  assert.match(request_id, /^req_/);
});

test('single-calls', async () => {
  const answer = await whole(user(LOOP), { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } });
  assert.equal(answer.content.filter((b) => b.type === 'tool_use').length, 1);
});

test('stream', async () => {
  const pieces = [];
  const stream = client.messages.stream({ model, max_tokens: 100, messages: user('Hello') });
  stream.on('text', (piece) => pieces.push(piece));
  const final = await stream.finalMessage();
  assert(pieces.length > 2);
  assert.equal(pieces.join(''), `You said "Hello". ${GREETING}`);
  assert.equal(final.stop_reason, 'end_turn');
});

test('tool-loop', async () => checkLoop(await loop(whole)));
test('tool-loop-streamed', async () => checkLoop(await loop(streamed)));

test('tool-choice', async () => {
  const answer = await whole(user('Hi'), { tools, tool_choice: { type: 'tool', name: 'add' } });
  assert.deepEqual(types(answer), ['tool_use']);
  assert.deepEqual(Object.keys(answer.content[0].input).sort(), ['a', 'b']);
});

test('tool-failure', async () => {
  const first = await whole(user(LOOP), { tools });
  const results = first.content
    .filter((b) => b.type === 'tool_use')
    .map((b) => ({ type: 'tool_result', tool_use_id: b.id, content: 'no such city', is_error: true }));
  const last = await whole([...user(LOOP), { role: 'assistant', content: first.content }, { role: 'user', content: results }], { tools });
  assert.match(text(last), /failed with no such city/);
});

test('vision', async () => {
  const source = { type: 'base64', media_type: 'image/png', data: PIXEL };
  const answer = await whole(user([{ type: 'image', source }, { type: 'text', text: 'What is this?' }]));
  assert(text(answer).includes(SEEN), text(answer));
});

test('json-schema', async () => {
  isPerson(text(await whole(user('Who?'), { output_config: { format: { type: 'json_schema', schema: PERSON } } })));
});

test('reasoning', async () => {
  for (const create of [whole, streamed]) {
    const answer = await create(user('Why?'), { thinking: budget });
    assert.deepEqual(types(answer), ['thinking', 'text']);
    assert(answer.content[0].signature);
    checkLoop(await loop(create, { thinking: budget }));
    checkLoop(await loop(create, { thinking: { type: 'adaptive' }, model: newest, output_config: { effort: 'low' } }));
    const hidden = await create(user('Why? [redacted]'), { thinking: budget });
    assert.deepEqual(types(hidden), ['thinking', 'redacted_thinking', 'text']);
  }
});

test('reasoning-signatures', async () => {
  const first = await whole(user(LOOP), { tools, thinking: budget });
  const results = first.content.filter((b) => b.type === 'tool_use').map((b) => ({ type: 'tool_result', tool_use_id: b.id, content: '21' }));
  const again = (content) =>
    whole([...user(LOOP), { role: 'assistant', content }, { role: 'user', content: results }], { tools, thinking: budget });
  await again(first.content);
  await refused(Anthropic.BadRequestError, again(first.content.filter((b) => b.type !== 'thinking')));
  const changed = first.content.map((b) => (b.type === 'thinking' ? { ...b, thinking: 'something else' } : b));
  await refused(Anthropic.BadRequestError, again(changed));
});

test('cached', async () => {
  const system = [{ type: 'text', text: 'Instructions for Node. '.repeat(400), cache_control: { type: 'ephemeral' } }];
  const first = await whole(user('One'), { system });
  const second = await whole(user('Two'), { system });
  assert(first.usage.cache_creation_input_tokens > 1000);
  assert.equal(second.usage.cache_read_input_tokens, first.usage.cache_creation_input_tokens);
});

test('stop-sequence', async () => {
  const answer = await whole(user(COUNT), { stop_sequences: ['seven eight nine ten', 'never'] });
  assert.deepEqual([text(answer), answer.stop_reason, answer.stop_sequence], ['one two three four five six ', 'stop_sequence', 'seven eight nine ten']);
});

test('max-tokens', async () => {
  const answer = await whole(user(COUNT), { max_tokens: 3 });
  assert.deepEqual([answer.stop_reason, answer.usage.output_tokens], ['max_tokens', 3]);
});

test('refusal', async () => {
  for (const create of [whole, streamed]) assert.equal((await create(user('Help. [refuse]'))).stop_reason, 'refusal');
});

test('models', async () => {
  const names = [];
  for await (const found of client.models.list()) names.push(found.id);
  assert(names.includes(model));
});

test('count-tokens', async () => {
  assert((await client.messages.countTokens({ model, messages: user('Hello there'), tools })).input_tokens > 0);
});

process.exit((await runAll()) ? 1 : 0);
