/** Role of a member. */
export type Role = "owner" | "admin" | "developer" | "viewer";

/** The roles from the highest to the lowest. */
export const roles: { value: Role; label: string; description: string }[] = [
  {
    value: "owner",
    label: "Owner",
    description: "Full access, including managing other owners. Each workspace has at least one owner.",
  },
  {
    value: "admin",
    label: "Admin",
    description: "Manages members, all keys and settings, deletes requests, views the audit log.",
  },
  {
    value: "developer",
    label: "Developer",
    description: "Calls models, creates own keys, views requests with prompts and answers.",
  },
  {
    value: "viewer",
    label: "Viewer",
    description: "Views statistics, models, keys and requests without prompts and answers.",
  },
];

/** The roles that a member may grant: none above their own. */
export function grantable(own: Role): typeof roles {
  return roles.slice(roles.findIndex((role) => role.value === own));
}

/** Reports whether a member may change another one: not one with a higher role. */
export function mayChange(own: Role, other: Role): boolean {
  return grantable(own).some((role) => role.value === other);
}

/** The link of an invitation. The token is in the fragment, so that no server logs it. */
export function invitationLink(publicUrl: string, token: string): string {
  return `${(publicUrl || location.origin).replace(/\/+$/, "")}/register#invitation=${token}`;
}
