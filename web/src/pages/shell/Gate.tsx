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
import { dropDrafts } from "../policies/keptDraft";
import { Shell } from "./Shell";

const RegisterPage = lazy(() => import("../entry/RegisterPage").then((m) => ({ default: m.RegisterPage })));
const SignInPage = lazy(() => import("../entry/SignInPage").then((m) => ({ default: m.SignInPage })));
const JoinPage = lazy(() => import("../entry/JoinPage").then((m) => ({ default: m.JoinPage })));
const NoWorkspacePage = lazy(() =>
  import("../entry/NoWorkspacePage").then((m) => ({ default: m.NoWorkspacePage })),
);

const entries = ["/sign-in", "/register", "/welcome"];

/**
 * Gate decides what a visitor sees: registration on an empty gateway, the sign-in form, or the dashboard. The address
 * stays, so that signing in leads back to it.
 */
export function Gate() {
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery(sessionQuery);
  const own = useOwn(data?.account?.id);
  useEffect(() => {
    const ask = () => void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
    window.addEventListener(signedOutEvent, ask);
    return () => window.removeEventListener(signedOutEvent, ask);
  }, [queryClient]);
  if (error && !data) {
    return (
      <Container size="xs" pt={80}>
        <ErrorPanel what="The dashboard could not be started" error={error} onRetry={() => void refetch()} />
      </Container>
    );
  }
  return (
    <Suspense fallback={<PanelSkeleton height={400} />}>{data && own && <Inside data={data} />}</Suspense>
  );
}

/** Whether everything that was read is the account's own: what another one has read is forgotten first. */
function useOwn(account: string | undefined): boolean {
  const queryClient = useQueryClient();
  const [reader, setReader] = useState(account);
  useLayoutEffect(() => {
    if (reader !== account) {
      forgetRead(queryClient);
      // eslint-disable-next-line react-hooks/set-state-in-effect -- nothing is shown until it is forgotten
      setReader(account);
    }
  }, [queryClient, reader, account]);
  return reader === account;
}

function forgetRead(queryClient: QueryClient): void {
  queryClient.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
}

function Inside({ data }: { data: Schema["SessionView"] }) {
  const { pathname, hash } = useLocation();
  const session = useSessionOf(data);
  if (data.server.setup_needed) {
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

/** The session in the workspace that this browser last worked in. */
function useSessionOf(data: Schema["SessionView"]): Session | undefined {
  const queryClient = useQueryClient();
  const entered = useStoredText("workspace");
  const workspace = data.workspaces.find((w) => w.id === entered) ?? data.workspaces[0];
  useLayoutEffect(() => {
    // A workspace that the person has left, or never was in, would be refused with every call; the pages' come later.
    if (data.account && workspace && entered && workspace.id !== entered) {
      storeText("workspace", workspace.id);
    }
  }, [data.account, workspace, entered]);
  if (!data.account || !workspace) {
    return undefined;
  }
  const forget = async () => {
    dropDrafts();
    storeText("workspace", "");
    forgetRead(queryClient);
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
    signOut: () => void api.DELETE("/session").finally(() => void forget()),
  };
}
