// Endpoints that older programs call: legacy completions and moderations.

import assert from 'node:assert/strict';

import { openai, refused, sim, simulated, test } from './kit.js';

const prompt = 'Once upon a time';

test('completions', async () => {
  const { data: answer, response } = await sim()
    .completions.create({ model: simulated, prompt: [prompt, 'There was'], max_tokens: 64, n: 2, logprobs: 1 })
    .withResponse();
  assert.equal(answer.object, 'text_completion');
  assert.equal(answer.model, simulated);
  assert.deepEqual(answer.choices.map((choice) => choice.index), [0, 1, 2, 3]);
  assert.ok(answer.choices.every((choice) => choice.text.includes('simulated answer')));
  assert.ok(answer.choices.every((choice) => ['stop', 'length'].includes(choice.finish_reason)));
  assert.equal(answer.choices[0].logprobs.tokens.join(''), answer.choices[0].text);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
  assert.ok(Number(response.headers.get('x-fairlead-cost')) > 0);
  await refused(openai.BadRequestError, sim().completions.create({ model: 'sim-embed-small', prompt }));
});

test('completions-auto', async () => {
  const answer = await sim().completions.create({ model: 'auto', prompt });
  assert.ok(answer.model.startsWith('sim-') && answer.choices[0].text, JSON.stringify(answer));
});

test('completions-streamed', async () => {
  const whole = await sim().completions.create({ model: simulated, prompt, max_tokens: 64 });
  const finishes = [];
  const usages = [];
  const ids = new Set();
  let text = '';
  const stream = await sim().completions.create({
    model: simulated,
    prompt,
    max_tokens: 64,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    assert.equal(chunk.object, 'text_completion');
    assert.equal(chunk.model, simulated);
    ids.add(chunk.id);
    if (chunk.usage) usages.push(chunk.usage);
    for (const choice of chunk.choices) {
      text += choice.text;
      if (choice.finish_reason) finishes.push(choice.finish_reason);
    }
  }
  assert.equal(text, whole.choices[0].text);
  assert.deepEqual(finishes, [whole.choices[0].finish_reason]);
  assert.equal(usages.length, 1);
  assert.equal(usages[0].completion_tokens, whole.usage.completion_tokens);
  assert.equal(ids.size, 1);
  for await (const chunk of await sim().completions.create({ model: simulated, prompt, stream: true })) {
    assert.ok(chunk.choices.length > 0 && !chunk.usage, 'an unexpected usage chunk');
  }
});

test('moderations', async () => {
  const { data: answer, response } = await sim()
    .moderations.create({ model: 'sim-moderation', input: ['A quiet harbour.', 'I will kill you.'] })
    .withResponse();
  assert.equal(answer.model, 'sim-moderation');
  assert.deepEqual(answer.results.map((result) => result.flagged), [false, true]);
  assert.ok(answer.results[1].categories.violence && answer.results[1].category_scores.violence > 0.5);
  assert.equal(Number(response.headers.get('x-fairlead-cost')), 0);
  const input = [
    { type: 'text', text: 'hello' },
    { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
  ];
  assert.equal((await sim().moderations.create({ model: 'auto', input })).results.length, 1);
  await refused(openai.BadRequestError, sim().moderations.create({ model: simulated, input: 'hello' }));
});
