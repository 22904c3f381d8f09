import { Button, Group, Skeleton, Tabs, Text, Title } from '@mantine/core';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import type { Assertions, Monitor } from '@tocsin/contracts/monitors/monitor';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { CodeBlock, CopyButton } from '../../components/code-block.tsx';
import { formatSpan } from '../../components/format.ts';
import { ExternalLink } from '../../components/links.tsx';
import { Panel, ScrollRegion } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { labelDefaultRegion } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
import { monitorCurl } from './code/monitor-curl.ts';
import { headerVariables } from './code/monitor-fields.ts';
import classes from './configuration.module.css';
import showClasses from './show.module.css';

/** What the monitor was told to be, for people and for machines. */
export function ConfigurationPanel({ monitor }: { readonly monitor: Monitor }): ReactNode {
  return (
    <Panel title="Configuration">
      <div className={showClasses['halves']}>
        <ConfigurationList monitor={monitor} />
        <div>
          <Title order={3} size="h6" mb="xs">
            As code
          </Title>
          <AsCode monitor={monitor} />
        </div>
      </div>
    </Panel>
  );
}

/** Every field of a monitor, to be read. */
export function ConfigurationList({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const defaultRegion = useDefaultRegion();
  const { url, method, interval, timeout, failureThreshold, regions, runbookUrl } = monitor;
  return (
    <dl className={classes['list']}>
      <Field label="URL">
        {method} {url}
      </Field>
      <Field label="Type">{monitor.type}</Field>
      <Field label="Interval">{formatSpan(interval)}</Field>
      <Field label="Timeout">{formatSpan(timeout)}</Field>
      <Field label="Down after">
        {failureThreshold === 1 ? '1 failure' : `${failureThreshold} failures in a row`}
      </Field>
      <Field label="Regions">
        {regions.length === 0 ? labelDefaultRegion(defaultRegion) : regions.join(', ')}
      </Field>
      <Field label="Headers">
        <HeaderList headers={monitor.headers} />
      </Field>
      <Field label="Body">
        <RequestBody body={monitor.body} />
      </Field>
      <Field label="Assertions">
        <AssertionList assertions={monitor.assertions} />
      </Field>
      <Field label="Runbook">
        {runbookUrl === null ? 'None' : <ExternalLink href={runbookUrl}>{runbookUrl}</ExternalLink>}
      </Field>
      <Field label="External id">{monitor.externalId ?? 'None'}</Field>
      <Field label="Source">{monitor.source ?? 'None'}</Field>
      <Field label="Id">
        <Group gap={4} wrap="nowrap">
          <code>{monitor.id}</code>
          <CopyButton value={monitor.id} what="the id" />
        </Group>
      </Field>
      <Field label="Created">
        <Time value={monitor.createdAt} />
      </Field>
      <Field label="Changed">
        <Time value={monitor.updatedAt} />
      </Field>
    </dl>
  );
}

function Field({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function RequestBody({ body }: { readonly body: string | null }): ReactNode {
  if (body === null) return 'None';
  return (
    <details>
      <summary>Show the body ({body.length} characters)</summary>
      <ScrollRegion label="Request body" maxHeight={200}>
        <pre className={classes['body']}>{body}</pre>
      </ScrollRegion>
    </details>
  );
}

const RULES: Record<keyof Assertions, (value: string | number) => string> = {
  statusCode: (code) => `The status is ${code}`,
  bodyContains: (text) => `The body holds “${text}”`,
  bodyNotContains: (text) => `The body does not hold “${text}”`,
  maxLatency: (ms) => `It takes at most ${ms} ms`,
  certificateMinDays: (days) => `The certificate holds for at least ${days} more days`,
};

function AssertionList({ assertions }: { readonly assertions: Assertions | null }): ReactNode {
  const rules = (Object.keys(RULES) as (keyof Assertions)[]).flatMap((key) => {
    const value = assertions?.[key];
    return value === undefined ? [] : [{ key, text: RULES[key](value) }];
  });
  if (rules.length === 0) return 'None: a status from 200 to 399 passes';
  return (
    <ul className={classes['rules']}>
      {rules.map(({ key, text }) => (
        <li key={key}>{text}</li>
      ))}
    </ul>
  );
}

/** Custom headers; their values, which may be secrets, only where somebody asks for them. */
export function HeaderList({ headers }: { readonly headers: Monitor['headers'] }): ReactNode {
  const [revealed, setRevealed] = useState(false);
  const entries = Object.entries(headers ?? {});
  if (entries.length === 0) return 'None';
  const Eye = revealed ? IconEyeOff : IconEye;
  return (
    <>
      <ul className={classes['rules']}>
        {entries.map(([name, value]) => (
          <li key={name}>
            <code>
              {name}: {revealed ? value : '••••••••'}
            </code>
          </li>
        ))}
      </ul>
      <Button
        variant="subtle"
        color="gray"
        size="compact-xs"
        leftSection={<Eye size={14} aria-hidden />}
        onClick={() => setRevealed(!revealed)}
      >
        {revealed ? 'Hide values' : 'Show values'}
      </Button>
    </>
  );
}

/** What writes YAML is loaded with the first that is shown. */
const YamlSnippet = lazy(async () => ({ default: (await import('./code/yaml-snippet.tsx')).YamlSnippet }));

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
