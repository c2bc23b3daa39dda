import { Skeleton, Stack } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";

/** Shows its content after 150 ms, so that fast loads do not flicker. */
export function Delayed({ children, ms = 150 }: { children: ReactNode; ms?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return late ? children : <span hidden aria-busy="true" />;
}

/** Placeholder for table rows. */
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

/** Placeholder for a panel or chart. */
export function PanelSkeleton({ height = 160 }: { height?: number }) {
  return (
    <Delayed>
      <Skeleton height={height} radius="sm" role="status" aria-busy="true" aria-label="Loading" />
    </Delayed>
  );
}
