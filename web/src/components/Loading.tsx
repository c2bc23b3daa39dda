import { Skeleton, Stack } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";

/** Shows its content only after 150 ms, so that what loads quickly does not flicker; until then it is busy unseen. */
export function Delayed({ children, ms = 150 }: { children: ReactNode; ms?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return late ? children : <span hidden aria-busy="true" />;
}

/** Stands where rows of a table will be. */
export function RowsSkeleton({ rows = 8, height = 34 }: { rows?: number; height?: number }) {
  return (
    <Delayed>
      <Stack gap={6} role="status" aria-busy="true" aria-label="Loading">
        {Array.from({ length: rows }, (_, i) => (
          <Skeleton key={i} height={height} radius="sm" />
        ))}
      </Stack>
    </Delayed>
  );
}

/** Stands where a panel or chart will be. */
export function PanelSkeleton({ height = 160 }: { height?: number }) {
  return (
    <Delayed>
      <Skeleton height={height} radius="sm" role="status" aria-busy="true" aria-label="Loading" />
    </Delayed>
  );
}
