import { Button } from '@mantine/core';
import { IconFilterOff } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';

/** Nothing is left by search and filters. */
export function NoMonitorsFound({ onClear }: { readonly onClear: () => void }): ReactNode {
  return (
    <EmptyState
      icon={IconFilterOff}
      title="No monitor matches"
      action={
        <Button variant="default" onClick={onClear}>
          Clear the filters
        </Button>
      }
    >
      None has this status, region and text at once.
    </EmptyState>
  );
}
