import { Button, Skeleton } from '@mantine/core';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { ApiKeyTable } from './api-key-table.tsx';
import { CreateApiKey } from './create-api-key.tsx';
import { apiKeysQuery } from './queries.ts';

/** Keys for machines. Each is shown once, when it is made. */
export function ApiKeysPage(): ReactNode {
  const { data: keys, error, refetch } = useQuery(apiKeysQuery);
  const [creating, setCreating] = useState(false);
  const create = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      New API key
    </Button>
  );
  return (
    <>
      <PageHeader
        title="API keys"
        hint="For pipelines and tools that create monitors and read results."
        actions={create}
      />
      {error && <ErrorNotice error={error} retry={() => void refetch()} />}
      {!keys && !error && <Skeleton h={220} />}
      {keys?.length === 0 && (
        <EmptyState icon={IconKey} title="No API keys yet" action={create}>
          A key lets a pipeline, a script or the <code>tocsin</code> command manage monitors. Make one for
          each of them, so that each can be taken away by itself.
        </EmptyState>
      )}
      {keys && keys.length > 0 && <ApiKeyTable keys={keys} />}
      <CreateApiKey opened={creating} onClose={() => setCreating(false)} />
    </>
  );
}
