// Prints whether the errors of the AI SDK show the message of each error.

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText } from 'ai';
import { runAll, scripted, test } from './kit.js';

const sentences = JSON.parse(process.env.SENTENCES);

/** The models of the three APIs. */
function models(name, apiKey = process.env.MOCK_KEY, send = fetch) {
  const openai = createOpenAI({ baseURL: process.env.MOCK_URL, apiKey, fetch: send });
  return {
    responses: openai(name),
    chat: openai.chat(name),
    messages: createAnthropic({ baseURL: process.env.MOCK_URL, apiKey, fetch: send })(name),
  };
}

/** Registers a case: the message of the error that the call fails with must contain the sentence. */
function shows(name, call) {
  test(name, async () => {
    for (const api of name.startsWith('mid-stream-') ? [name.slice('mid-stream-'.length)] : ['responses', 'chat', 'messages']) {
      let error;
      try {
        await call(api);
      } catch (caught) {
        error = caught;
      }
      if (!error) throw new Error(`${api}: no error was thrown`);
      const text = error.message ?? JSON.stringify(error);
      if (!text.includes(sentences[name])) throw new Error(`${api}: ${error.constructor.name} shows ${text}`);
    }
  });
}

function ask(api, model = 'vendor/slashed', key = 'MOCK_KEY', send = fetch) {
  const used = models(model, process.env[key] ?? key, send)[api];
  return generateText({ model: used, prompt: 'Hi', maxRetries: 0 });
}

/** Sends a request with a field that the client itself would reject. */
function misspelled(address, request) {
  return fetch(address, { ...request, body: JSON.stringify({ ...JSON.parse(request.body), stream: 'maybe' }) });
}

async function read(api) {
  let failure;
  const { fullStream } = streamText({ model: models(scripted('cut'))[api], prompt: 'Hi', maxRetries: 0, onError() {} });
  for await (const part of fullStream) {
    if (part.type === 'error') failure ??= part.error;
  }
  if (failure) throw failure;
}

shows('bad-key', (api) => ask(api, undefined, 'fl_wrong'));
shows('unknown-model', (api) => ask(api, 'no-such-model'));
shows('budget', (api) => ask(api, undefined, 'BROKE_KEY'));
shows('rate-limit', async (api) => {
  await ask(api, undefined, 'LIMITED_KEY').catch(() => undefined); // the previous API may have reached the limit already
  await ask(api, undefined, 'LIMITED_KEY');
});
shows('invalid-field', (api) => ask(api, undefined, undefined, misspelled));
shows('no-target', (api) => ask(api, scripted('dead')));
for (const api of ['chat', 'responses', 'messages']) shows(`mid-stream-${api}`, () => read(api));

process.exit((await runAll()) ? 1 : 0);
