import { createContext, type ReactNode, useContext } from "react";

import type { Schema } from "../api/client";

/** Who is signed in, where, and what they may do there. */
export interface Session {
  account: Schema["AccountView"];
  workspaces: Schema["MembershipView"][];
  workspace: Schema["MembershipView"];
  server: Schema["ServerView"];
  /** Whether the person may do this in the workspace, such as "manage_keys". */
  may: (permission: string) => boolean;
  /** Goes on in another of the person's workspaces. */
  enter: (workspaceId: string) => void;
  signOut: () => void;
}

const Context = createContext<Session | undefined>(undefined);

/** Gives a session to everything inside. */
export function SessionProvider({ session, children }: { session: Session; children: ReactNode }) {
  return <Context value={session}>{children}</Context>;
}

/** The time zone of the account that is signed in; undefined while nobody is. */
export function useAccountZone(): string | undefined {
  return useContext(Context)?.account.time_zone;
}

/** The session. Only for what is inside the shell: somebody is signed in there. */
export function useSession(): Session {
  const session = useContext(Context);
  if (!session) {
    throw new Error("useSession is used outside of the shell");
  }
  return session;
}
