/** A role of a member. */
export type Role = "owner" | "admin" | "developer" | "viewer";

/** The roles from the highest to the lowest, with what each allows. */
export const roles: { value: Role; label: string; description: string }[] = [
  {
    value: "owner",
    label: "Owner",
    description: "Everything, and other owners. A workspace has at least one.",
  },
  {
    value: "admin",
    label: "Admin",
    description: "Members, all keys, settings, deleting requests, the audit log.",
  },
  {
    value: "developer",
    label: "Developer",
    description: "Calls models, makes keys of their own, reads texts of requests.",
  },
  {
    value: "viewer",
    label: "Viewer",
    description: "Reads figures, requests without their texts, models and keys.",
  },
];

/** The roles that somebody may give: none above their own. */
export function grantable(own: Role): typeof roles {
  return roles.slice(roles.findIndex((role) => role.value === own));
}

/** Reports whether somebody of a role may change another member: not one above them. */
export function mayChange(own: Role, other: Role): boolean {
  return grantable(own).some((role) => role.value === other);
}

/** The link of an invitation. The token is behind #, so that it reaches no server's log. */
export function invitationLink(publicUrl: string, token: string): string {
  return `${(publicUrl || location.origin).replace(/\/+$/, "")}/register#invitation=${token}`;
}
