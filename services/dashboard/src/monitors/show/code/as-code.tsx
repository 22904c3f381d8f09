import { Skeleton, Tabs, Text } from '@mantine/core';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { lazy, type ReactNode, Suspense } from 'react';
import { CodeBlock } from '../../../components/code-block.tsx';
import { monitorCurl } from './monitor-curl.ts';
import { headerVariables } from './placeholders.ts';

/** What writes YAML is loaded with the first that is shown. */
const YamlSnippet = lazy(async () => ({ default: (await import('./yaml-snippet.tsx')).YamlSnippet }));

/** The monitor as a command and as a part of a file, to copy. */
export function AsCode({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const variables = [...headerVariables(monitor).values()];
  return (
    <>
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="curl">curl</Tabs.Tab>
          <Tabs.Tab value="yaml">tocsin.yaml</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="curl" pt="xs">
          <CodeBlock code={monitorCurl(monitor, window.location.origin)} what="the curl command" />
        </Tabs.Panel>
        <Tabs.Panel value="yaml" pt="xs">
          <Suspense fallback={<Skeleton height={160} />}>
            <YamlSnippet monitor={monitor} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
      <Text size="xs" c="var(--text-quiet)" mt="xs">
        {variables.length === 0
          ? 'The command reads the API key from TOCSIN_API_KEY.'
          : `Values of headers are left out: set ${variables.join(', ')} in the environment, and TOCSIN_API_KEY for the command.`}
      </Text>
    </>
  );
}
