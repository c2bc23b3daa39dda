import type { Policy } from "../../api/routing";

/** A policy to begin with. None names a model, so that each is valid on every gateway. */
export interface Example {
  title: string;
  why: string;
  policy: Policy;
}

/** Three policies that show what policies can do. */
export const examples: Example[] = [
  {
    title: "Quality where it counts",
    why: "Code, maths and reasoning go to models that are likely to get them right; everything else stays cheap.",
    policy: {
      name: "hard-tasks",
      description: "Code, maths and reasoning are worth a better model.",
      when: 'request.auto && request.task in ["code", "maths", "reasoning"]',
      objective: "0.9",
    },
  },
  {
    title: "A bound on what a request costs",
    why: "Models at which a request is expected to cost more than five cents are left out.",
    policy: { name: "cost-cap", description: "No single request is worth more.", max_cost_usd: "0.05" },
  },
  {
    title: "Confidential keys leave no text",
    why: "Requests of keys with the tag data=confidential are routed as usual, and their texts are not stored.",
    policy: {
      name: "confidential",
      description: "Texts of confidential applications stay out of the log.",
      when: 'key.tags["data"] == "confidential"',
      log_bodies: false,
    },
  },
];

/** The name, or the first of name-2, name-3, … that no policy has. */
export function freeName(name: string, policies: Policy[]): string {
  const taken = new Set(policies.map((policy) => policy.name));
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? name : `${name}-${n}`;
    if (!taken.has(candidate)) {
      return candidate;
    }
  }
}
