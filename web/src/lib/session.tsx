import { createContext, type ReactNode, useContext } from "react";

import type { Schema } from "../api/client";

/** The signed-in account, its current workspace, and its permissions there. */
export interface Session {
  account: Schema["AccountView"];
  workspaces: Schema["MembershipView"][];
  workspace: Schema["MembershipView"];
  server: Schema["ServerView"];
  /** Whether the account has a permission in the workspace, such as "manage_keys". */
  may: (permission: string) => boolean;
  /** Switches to another workspace of the account. */
  enter: (workspaceId: string) => void;
  signOut: () => void;
}

const Context = createContext<Session | undefined>(undefined);

/** Provides a session to its children. */
export function SessionProvider({ session, children }: { session: Session; children: ReactNode }) {
  return <Context value={session}>{children}</Context>;
}

/** The time zone of the signed-in account; undefined when signed out. */
export function useAccountZone(): string | undefined {
  return useContext(Context)?.account.time_zone;
}

/** The session. Only for components inside the shell, where an account is signed in. */
export function useSession(): Session {
  const session = useContext(Context);
  if (!session) {
    throw new Error("useSession is used outside of the shell");
  }
  return session;
}
