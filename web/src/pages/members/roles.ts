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
    description: "Can manage members, all keys and settings, delete requests and view the audit log.",
  },
  {
    value: "developer",
    label: "Developer",
    description: "Can call models, create keys and view requests with prompts and responses.",
  },
  {
    value: "viewer",
    label: "Viewer",
    description: "Can view statistics, models, keys and requests, but not prompts or responses.",
  },
];

/** The roles that a member may grant: none above their own. */
export function grantable(own: Role): typeof roles {
  return roles.slice(roles.findIndex((role) => role.value === own));
}

/** Reports whether a member may change another member. A member with a higher role cannot be changed. */
export function mayChange(own: Role, other: Role): boolean {
  return grantable(own).some((role) => role.value === other);
}

/** The link of an invitation. The token is in the fragment, so that no server logs it. */
export function invitationLink(publicUrl: string, token: string): string {
  return `${(publicUrl || location.origin).replace(/\/+$/, "")}/register#invitation=${token}`;
}
