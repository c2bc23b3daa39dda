import type { Policy } from "../../api/routing";

/** An example policy. Examples name no model, so that they are valid on every gateway. */
export interface Example {
  title: string;
  why: string;
  policy: Policy;
}

/** The example policies. */
export const examples: Example[] = [
  {
    title: "Better models for hard tasks",
    why: "Prefers quality for code, maths and agents. Other tasks stay cheap.",
    policy: {
      name: "hard-tasks",
      description: "Use better models for code, maths and agents.",
      when: 'request.auto && request.task in ["code", "maths", "agents"]',
      objective: "0.9",
    },
  },
  {
    title: "Cost limit per request",
    why: "Excludes models with an expected cost of more than five cents.",
    policy: { name: "cost-cap", description: "Limit the cost of a request.", max_cost_usd: "0.05" },
  },
  {
    title: "No storage for confidential keys",
    why: "Doesn’t store prompts and responses of keys with the tag data=confidential.",
    policy: {
      name: "confidential",
      description: "Don’t store prompts of confidential applications.",
      when: 'key.tags["data"] == "confidential"',
      log_bodies: false,
    },
  },
];

/** The name, or the first unused one of name-2, name-3, … */
export function uniqueName(name: string, policies: Policy[]): string {
  const taken = new Set(policies.map((policy) => policy.name));
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? name : `${name}-${n}`;
    if (!taken.has(candidate)) {
      return candidate;
    }
  }
}
