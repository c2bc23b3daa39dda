// Typical uses of the official OpenAI client, against a vendor's mock or a gateway in front of one.

import assert from 'node:assert/strict';

import { COUNT, DECLARED, GREETING, LOOP, PERSON, PIXEL, SEEN, STEPS, SUMMARY, isPerson, perform } from './errands.js';
import { OpenAI, runAll, test, user } from './kit.js';

const { CHAT_URL, CHAT_KEY, CHAT_MODEL, CHAT_REASONER, CHAT_COUNTS_REASONING } = process.env;
const client = new OpenAI({ baseURL: CHAT_URL, apiKey: CHAT_KEY, maxRetries: 0 });
const tools = Object.entries(DECLARED).map(([name, parameters]) => ({ type: 'function', function: { name, description: 'A tool', parameters } }));
const thinking = { model: CHAT_REASONER, reasoning_effort: 'low' };

/** An answer, with the message as clients send it back. */
async function whole(messages, fields) {
  const answer = await client.chat.completions.create({ model: CHAT_MODEL, messages, ...fields });
  return { ...answer.choices[0], usage: answer.usage };
}

/** Like whole, but assembled by the client's helper. */
async function streamed(messages, fields) {
  const answer = await client.chat.completions
    .stream({ model: CHAT_MODEL, messages, stream_options: { include_usage: true }, ...fields })
    .finalChatCompletion();
  return { ...answer.choices[0], usage: answer.usage };
}

/** Returns the message as the client sends it back, without the fields that only the client's helper adds. */
function back({ parsed, ...message }) {
  if (message.tool_calls) message.tool_calls = message.tool_calls.map(({ id, type, function: { name, arguments: text } }) => ({ id, type, function: { name, arguments: text } }));
  if (!message.tool_calls?.length) delete message.tool_calls;
  return message;
}

/** Runs the tools until the model returns an answer; resolves to the tools called in each step, and the answer. */
async function loop(create, fields) {
  let messages = user(LOOP);
  const steps = [];
  for (;;) {
    const { message, finish_reason } = await create(messages, { tools, ...fields });
    if (!message.tool_calls?.length) {
      assert.equal(finish_reason, 'stop');
      return [steps, message.content];
    }
    assert.equal(finish_reason, 'tool_calls');
    steps.push(message.tool_calls.map((call) => call.function.name));
    const results = message.tool_calls.map((call) => ({
      role: 'tool',
      tool_call_id: call.id,
      content: perform(call.function.name, JSON.parse(call.function.arguments)),
    }));
    messages = [...messages, back(message), ...results];
  }
}

test('chat', async () => {
  const system = [{ role: 'system', content: 'Be brief.' }];
  const { message, finish_reason, usage } = await whole([...system, ...user('Hello')]);
  assert.equal(message.content, `You said "Hello". The system said "Be brief.". ${GREETING}`);
  assert.equal(finish_reason, 'stop');
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
});

test('stream', async () => {
  const pieces = [];
  const finishes = [];
  for await (const chunk of await client.chat.completions.create({ model: CHAT_MODEL, messages: user('Hello'), stream: true })) {
    const [choice] = chunk.choices;
    if (choice?.delta.content) pieces.push(choice.delta.content);
    if (choice?.finish_reason) finishes.push(choice.finish_reason);
  }
  assert(pieces.length > 2);
  assert.equal(pieces.join(''), `You said "Hello". ${GREETING}`);
  assert.deepEqual(finishes, ['stop']);
});

test('tool-loop', async () => assert.deepEqual(await loop(whole), [STEPS, SUMMARY]));
test('tool-loop-streamed', async () => assert.deepEqual(await loop(streamed), [STEPS, SUMMARY]));

test('tool-choice', async () => {
  const { message } = await whole(user('Hi'), { tools, tool_choice: { type: 'function', function: { name: 'add' } } });
  assert.deepEqual(message.tool_calls.map((call) => call.function.name), ['add']);
});

test('vision', async () => {
  const url = `data:image/png;base64,${PIXEL}`;
  const { message } = await whole(user([{ type: 'image_url', image_url: { url } }, { type: 'text', text: 'What is this?' }]));
  assert(message.content.includes(SEEN), message.content);
});

test('json-schema', async () => {
  const response_format = { type: 'json_schema', json_schema: { name: 'person', strict: true, schema: PERSON } };
  const { message, finish_reason } = await whole(user('Who?'), { response_format });
  isPerson(message.content);
  assert.equal(finish_reason, 'stop');
});

test('reasoning', async () => {
  for (const create of [whole, streamed]) {
    const { message, usage } = await create(user('Why?'), thinking);
    assert(message.content.includes(GREETING), message.content);
    if (CHAT_COUNTS_REASONING !== 'no') assert(usage.completion_tokens_details.reasoning_tokens > 0);
  }
});

test('reasoning-tools', async () => assert.deepEqual(await loop(whole, thinking), [STEPS, SUMMARY]));
test('reasoning-tools-streamed', async () => assert.deepEqual(await loop(streamed, thinking), [STEPS, SUMMARY]));

test('stop-sequence', async () => {
  for (const create of [whole, streamed]) {
    const { message, finish_reason } = await create(user(COUNT), { stop: ['never', 'seven eight nine ten eleven twelve thirteen'] });
    assert.deepEqual([message.content, finish_reason], ['one two three four five six ', 'stop']);
  }
});

process.exit((await runAll()) ? 1 : 0);
