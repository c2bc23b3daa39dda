import { Container } from "@mantine/core";
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { Navigate, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useLayoutEffect, useState } from "react";

import { api, type Schema, signedOutEvent } from "../../api/client";
import { sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { type Session, SessionProvider } from "../../lib/session";
import { storeText, useStoredText } from "../../lib/stored";
import { removeAllDrafts } from "../policies/storedDraft";
import { Shell } from "./Shell";

const RegisterPage = lazy(() => import("../entry/RegisterPage").then((m) => ({ default: m.RegisterPage })));
const SignInPage = lazy(() => import("../entry/SignInPage").then((m) => ({ default: m.SignInPage })));
const JoinPage = lazy(() => import("../entry/JoinPage").then((m) => ({ default: m.JoinPage })));
const NoWorkspacePage = lazy(() =>
  import("../entry/NoWorkspacePage").then((m) => ({ default: m.NoWorkspacePage })),
);

const entries = ["/sign-in", "/register", "/welcome"];

/**
 * Gate shows registration on a gateway without accounts, the sign-in form, or the dashboard. The URL stays the same, so
 * that signing in returns to it.
 */
export function Gate() {
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery(sessionQuery);
  const cacheIsOwn = useOwnCache(data?.account?.id);
  useEffect(() => {
    const reload = () => void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
    window.addEventListener(signedOutEvent, reload);
    return () => window.removeEventListener(signedOutEvent, reload);
  }, [queryClient]);
  if (error && !data) {
    return (
      <Container size="xs" pt={80}>
        <ErrorPanel what="Could not start the dashboard" error={error} onRetry={() => void refetch()} />
      </Container>
    );
  }
  return (
    <Suspense fallback={<PanelSkeleton height={400} />}>
      {data && cacheIsOwn && <Inside data={data} />}
    </Suspense>
  );
}

/** Clears the cache when another account signs in, and reports whether the cached data belongs to the account. */
function useOwnCache(account: string | undefined): boolean {
  const queryClient = useQueryClient();
  const [owner, setOwner] = useState(account);
  useLayoutEffect(() => {
    if (owner !== account) {
      clearCache(queryClient);
      // eslint-disable-next-line react-hooks/set-state-in-effect -- nothing is rendered until the cache is cleared
      setOwner(account);
    }
  }, [queryClient, owner, account]);
  return owner === account;
}

function clearCache(queryClient: QueryClient): void {
  queryClient.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
}

function Inside({ data }: { data: Schema["SessionView"] }) {
  const { pathname, hash } = useLocation();
  const session = useSessionOf(data);
  // The identity provider can create the first account too, unless the setup link is opened.
  const setupBySignIn = data.server.sso && pathname !== "/register" && pathname !== "/welcome";
  if (data.server.setup_needed && !setupBySignIn) {
    return <RegisterPage server={data.server} />;
  }
  if (!data.account) {
    return pathname === "/register" || pathname === "/welcome" ? (
      <RegisterPage server={data.server} />
    ) : (
      <SignInPage server={data.server} />
    );
  }
  if (pathname === "/register" && hash.startsWith("invitation=")) {
    return <JoinPage token={hash.slice("invitation=".length)} account={data.account} />;
  }
  if (!session) {
    return <NoWorkspacePage account={data.account} />;
  }
  if (entries.includes(pathname)) {
    return <Navigate to="/" replace />;
  }
  return (
    <SessionProvider session={session}>
      <Shell />
    </SessionProvider>
  );
}

/** The session in the workspace that was last used in this browser. */
function useSessionOf(data: Schema["SessionView"]): Session | undefined {
  const queryClient = useQueryClient();
  const storedID = useStoredText("workspace");
  const workspace = data.workspaces.find((w) => w.id === storedID) ?? data.workspaces[0];
  useLayoutEffect(() => {
    // Calls for a workspace that the account has left would be rejected. This runs before the pages make their calls.
    if (data.account && workspace && storedID && workspace.id !== storedID) {
      storeText("workspace", workspace.id);
    }
  }, [data.account, workspace, storedID]);
  if (!data.account || !workspace) {
    return undefined;
  }
  const onSignedOut = async () => {
    removeAllDrafts();
    storeText("workspace", "");
    clearCache(queryClient);
    await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  return {
    account: data.account,
    workspaces: data.workspaces,
    workspace,
    server: data.server,
    may: (permission) => workspace.permissions.includes(permission),
    enter: (id) => {
      storeText("workspace", id);
      void queryClient.resetQueries({ predicate: (query) => query.queryKey[0] !== "session" });
    },
    signOut: () => void api.DELETE("/session").finally(() => void onSignedOut()),
  };
}
