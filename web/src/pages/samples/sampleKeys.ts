/** The keys of sample traffic: a web application, a support bot, and batch jobs. */
export const sampleKeys = ["key_sample", "key_sample_support", "key_sample_batch"];

/** Reports whether a key belongs to sample traffic. */
export function isSampleKey(id: string): boolean {
  return sampleKeys.includes(id);
}
