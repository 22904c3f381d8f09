import { Anchor, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Loaded } from '../components/load-states.tsx';
import { PageHeader } from '../components/page.tsx';
import { anchorOf } from './anchor-of.ts';
import { Contents } from './contents.tsx';
import classes from './docs.module.css';
import { FirstRequest } from './first-request.tsx';
import { listOperations, listWebhooks, type OperationGroup, searchOperations } from './list-operations.ts';
import { type OpenApi, openApiQuery } from './open-api.ts';
import { OperationList } from './operation-list.tsx';
import { Prose } from './prose.tsx';
import { useOpenOperation } from './use-open-operation.ts';

/** The reference of the API, made in the browser of the document that programs read too. */
export function DocsPage(): ReactNode {
  const query = useQuery(openApiQuery);
  return (
    <>
      <PageHeader
        title="API reference"
        hint={
          <>
            Made of the schemas that the api itself checks requests with. For programs:{' '}
            <Anchor href="/api/cli/openapi.json" inherit underline="always">
              openapi.json
            </Anchor>{' '}
            (OpenAPI 3.1).
          </>
        }
      />
      <Loaded query={query} pending={<Skeleton h={480} />}>
        {(document) => <Reference document={document} />}
      </Loaded>
    </>
  );
}

function Reference({ document }: { readonly document: OpenApi }): ReactNode {
  const [query, setQuery] = useState('');
  const groups = listOperations(document);
  const found = searchOperations(groups, query);
  const opened = useOpenOperation();
  return (
    <div className={classes['page']}>
      <Contents groups={groups} />
      <Stack gap="xl" miw={0}>
        <FirstRequest />
        <TextInput
          type="search"
          aria-label="Find a request"
          placeholder="Find a request, as “events” or “post monitors”"
          leftSection={<IconSearch size={16} aria-hidden />}
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
        />
        {found.length === 0 && <Text c="var(--text-quiet)">No request has these words.</Text>}
        {found.map((group) => (
          <Group key={group.name} group={group} document={document} opened={opened} />
        ))}
        {query === '' && <Webhooks document={document} opened={opened} />}
      </Stack>
    </div>
  );
}

interface GroupProps {
  readonly group: OperationGroup;
  readonly document: OpenApi;
  readonly opened: ReturnType<typeof useOpenOperation>;
}

function Group({ group, document, opened }: GroupProps): ReactNode {
  return (
    <section aria-labelledby={anchorOf(group.name)}>
      <Title order={2} size="h4" id={anchorOf(group.name)} className={classes['anchor'] ?? ''}>
        {group.name}
      </Title>
      {group.description !== null && (
        <Text size="sm" c="var(--text-quiet)" mb="sm" maw={720}>
          <Prose text={group.description} />
        </Text>
      )}
      <OperationList operations={group.operations} document={document} opened={opened} />
    </section>
  );
}

function Webhooks({ document, opened }: Omit<GroupProps, 'group'>): ReactNode {
  const operations = listWebhooks(document);
  if (operations.length === 0) return null;
  return (
    <Group
      group={{
        name: 'Webhooks',
        description:
          'What is sent to the URL of a channel, at least once. Answer with any 2xx status within the timeout; check the signature, and take each webhook-id once.',
        operations,
      }}
      document={document}
      opened={opened}
    />
  );
}
