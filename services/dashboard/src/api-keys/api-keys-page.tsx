import { Button, Skeleton } from '@mantine/core';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { EmptyState } from '../components/empty-state.tsx';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { ApiKeyTable } from './api-key-table.tsx';
import { CreateApiKey } from './create-api-key.tsx';
import { apiKeysQuery } from './queries.ts';

/** Keys for machines. Each is shown once, when it is made. */
export function ApiKeysPage(): ReactNode {
  const query = useQuery(apiKeysQuery);
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
      <Loaded query={query} pending={<Skeleton h={220} />}>
        {(keys) =>
          keys.length === 0 ? (
            <EmptyState icon={IconKey} title="No API keys yet" action={create}>
              A key lets a pipeline, a script or the <code>tocsin</code> command manage monitors. Make one for
              each of them, so that each can be taken away by itself.
            </EmptyState>
          ) : (
            <ApiKeyTable keys={keys} />
          )
        }
      </Loaded>
      <CreateApiKey opened={creating} onClose={() => setCreating(false)} />
    </>
  );
}
