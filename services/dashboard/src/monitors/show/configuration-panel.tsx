import { Code, Group, SimpleGrid, Skeleton, Tabs, Title } from '@mantine/core';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { lazy, type ReactNode, Suspense } from 'react';
import { CopyButton } from '../../components/buttons.tsx';
import { CodeBlock } from '../../components/code.tsx';
import { Facts } from '../../components/facts.tsx';
import { Panel } from '../../components/page.tsx';
import { Quiet, TextLink, Time } from '../../components/text.tsx';
import { useCan } from '../../session/session.ts';
import { FIELDS, isAssertion, isTls, pathsOf } from '../fields/fields.tsx';
import { monitorCurl } from './code/monitor-curl.ts';
import { headerVariables, keyVariable } from './code/monitor-fields.ts';

/** Loads the YAML library when the tab opens. */
const YamlSnippet = lazy(async () => ({ default: (await import('./code/yaml-snippet.tsx')).YamlSnippet }));

interface MonitorProps {
  readonly monitor: Monitor;
}

export function ConfigurationPanel({ monitor }: MonitorProps): ReactNode {
  const can = useCan();
  return (
    <Panel
      title="Configuration"
      actions={
        <TextLink to="/audit-log" search={{ targetId: monitor.id }} size="sm">
          Change history
        </TextLink>
      }
    >
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl">
        <FieldList monitor={monitor} />
        {/* Viewers do not have the request body. */}
        {can.change && (
          <div>
            <Title order={3} size="h6" mb="xs">
              As code
            </Title>
            <AsCode monitor={monitor} />
          </div>
        )}
      </SimpleGrid>
    </Panel>
  );
}

function FieldList({ monitor }: MonitorProps): ReactNode {
  const fields = pathsOf(FIELDS).flatMap((path) => {
    const { label, Value } = FIELDS[path];
    if (Value === null || isAssertion(path) || isTls(path)) return [];
    const plain = monitor[path];
    return [
      [label, Value ? <Value monitor={monitor} /> : typeof plain === 'object' ? 'None' : String(plain)],
    ];
  });
  const { id, createdAt, updatedAt } = monitor;
  const facts: Readonly<Record<string, ReactNode>> = {
    ...Object.fromEntries(fields),
    TLS: describeTls(monitor.tls),
    Assertions: <AssertionList assertions={monitor.assertions} />,
    ID: (
      <Group gap={4} wrap="nowrap">
        <Code>{id}</Code>
        <CopyButton value={id} what="the ID" />
      </Group>
    ),
    Created: <Time value={createdAt} />,
    Updated: <Time value={updatedAt} />,
  };
  return <Facts facts={facts} gap="xs" className="tabular" />;
}

/** Lists the settings without their PEM texts. */
function describeTls(tls: Monitor['tls']): string {
  const { serverName, ca, certificate, verify = true } = tls ?? {};
  const parts = [
    serverName !== undefined && `server name ${serverName}`,
    ca !== undefined && 'own CAs',
    certificate !== undefined && 'client certificate',
    !verify && 'certificates are not verified',
  ].filter((part) => part !== false);
  return parts.length === 0 ? 'Default' : parts.join(', ');
}

function AssertionList({ assertions }: Pick<Monitor, 'assertions'>): ReactNode {
  const rules = pathsOf(FIELDS)
    .flatMap((path) => (assertions && FIELDS[path].rules?.(assertions)) ?? [])
    .filter((rule) => rule !== false);
  if (rules.length === 0) return 'None. Status codes from 200 to 399 pass.';
  return (
    <ul className="plain-list">
      {rules.map((rule) => (
        <li key={rule}>{rule}</li>
      ))}
    </ul>
  );
}

function AsCode({ monitor }: MonitorProps): ReactNode {
  const variables = [...headerVariables(monitor).values(), keyVariable(monitor) ?? []].flat();
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
      <Quiet size="xs" mt="xs">
        {variables.length === 0
          ? 'The command reads the API key from TOCSIN_API_KEY.'
          : `Secrets are omitted. Set ${variables.join(', ')} before you run it, and TOCSIN_API_KEY for the command.`}
      </Quiet>
    </>
  );
}
