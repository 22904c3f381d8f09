import { Skeleton, Stack, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';

const ROWS = 10;

/** Stands where the list comes, as tall as it. */
export function ListSkeleton({ rowHeight }: { readonly rowHeight: number }): ReactNode {
  return (
    <div role="status">
      <VisuallyHidden>Loading the monitors</VisuallyHidden>
      <Stack gap="sm" mb="md" aria-hidden>
        <Skeleton height={36} />
        <Skeleton height={34} maw={480} />
      </Stack>
      <Stack gap={1} aria-hidden>
        {Array.from({ length: ROWS }, (_, row) => (
          <Skeleton key={row} height={rowHeight - 1} radius={0} />
        ))}
      </Stack>
    </div>
  );
}
