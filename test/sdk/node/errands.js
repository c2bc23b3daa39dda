// The tools of the loop that the mocked vendors request, and the expected end of the loop.

import assert from 'node:assert/strict';

export const LOOP = 'Compare Paris and Rome. [tool loop]';
// The vendor repeats every result next to its call, so that a lost or mixed-up result is visible.
export const SUMMARY =
  'get_temperature {"city":"Paris"} gave 21. get_temperature {"city":"Rome"} gave 17. add {"a":21,"b":17} gave 38. clock {} gave 12:00.';
export const STEPS = [
  ['get_temperature', 'get_temperature'],
  ['add', 'clock'],
];
export const GREETING = 'Grüße, 日本語, 🚀.';
export const COUNT = 'Count. [count]';
// One red pixel.
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
export const SEEN = `I see image/png of ${Buffer.from(PIXEL, 'base64').length} bytes.`;
export const DECLARED = {
  get_temperature: { type: 'object', properties: { city: { type: 'string', description: 'The city' } }, required: ['city'] },
  add: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a', 'b'] },
  clock: { type: 'object', properties: {} },
};
export const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};

/** Returns the result of a tool as text. */
export function perform(name, input) {
  if (name === 'get_temperature') return { Paris: '21', Rome: '17' }[input.city];
  if (name === 'add') return String(input.a + input.b);
  assert.deepEqual(input, {});
  return '12:00';
}

export function isPerson(text) {
  const person = JSON.parse(text);
  assert.deepEqual(Object.keys(person).sort(), ['age', 'name']);
  assert(Number.isInteger(person.age));
}
