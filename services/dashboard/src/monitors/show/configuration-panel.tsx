import { Button, Group, Skeleton, Tabs, Title } from '@mantine/core';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import type { Assertions, Monitor } from '@tocsin/contracts/monitors/monitor';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { CodeBlock, CopyButton } from '../../components/buttons.tsx';
import { formatSpan } from '../../components/format.ts';
import { Panel, ScrollRegion } from '../../components/page.tsx';
import { ExternalLink, Quiet, Time } from '../../components/text.tsx';
import { labelDefaultRegion } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
import { monitorCurl } from './code/monitor-curl.ts';
import { headerVariables } from './code/monitor-fields.ts';
import classes from './configuration.module.css';
import showClasses from './show.module.css';

/** The YAML library is loaded when the tab opens. */
const YamlSnippet = lazy(async () => ({ default: (await import('./code/yaml-snippet.tsx')).YamlSnippet }));

interface MonitorProps {
  readonly monitor: Monitor;
}

/** The fields of a monitor, and the same as code. */
export function ConfigurationPanel({ monitor }: MonitorProps): ReactNode {
  return (
    <Panel title="Configuration">
      <div className={showClasses['halves']}>
        <FieldList monitor={monitor} />
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

function FieldList({ monitor }: MonitorProps): ReactNode {
  const defaultRegion = useDefaultRegion();
  const { id, method, url, failureThreshold, regions, runbookUrl } = monitor;
  const fields: readonly (readonly [label: string, value: ReactNode])[] = [
    ['URL', `${method} ${url}`],
    ['Type', monitor.type],
    ['Interval', formatSpan(monitor.interval)],
    ['Timeout', formatSpan(monitor.timeout)],
    ['Failure threshold', failureThreshold === 1 ? '1 failure' : `${failureThreshold} consecutive failures`],
    ['Regions', regions.length === 0 ? labelDefaultRegion(defaultRegion) : regions.join(', ')],
    ['Headers', <HeaderList key="headers" headers={monitor.headers} />],
    ['Body', <RequestBody key="body" body={monitor.body} />],
    ['Assertions', <AssertionList key="assertions" assertions={monitor.assertions} />],
    [
      'Runbook',
      runbookUrl === null ? (
        'None'
      ) : (
        <ExternalLink key="runbook" href={runbookUrl}>
          {runbookUrl}
        </ExternalLink>
      ),
    ],
    ['External ID', monitor.externalId ?? 'None'],
    ['Source', monitor.source ?? 'None'],
    [
      'ID',
      <Group key="id" gap={4} wrap="nowrap">
        <code>{id}</code>
        <CopyButton value={id} what="the ID" />
      </Group>,
    ],
    ['Created', <Time key="created" value={monitor.createdAt} />],
    ['Updated', <Time key="updated" value={monitor.updatedAt} />],
  ];
  return (
    <dl className={classes['list']}>
      {fields.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The headers. Their values may be secrets and are shown on request. */
function HeaderList({ headers }: Pick<Monitor, 'headers'>): ReactNode {
  const [shown, setShown] = useState(false);
  const entries = Object.entries(headers ?? {});
  if (entries.length === 0) return 'None';
  const Eye = shown ? IconEyeOff : IconEye;
  return (
    <>
      <ul className={classes['rules']}>
        {entries.map(([name, value]) => (
          <li key={name}>
            <code>
              {name}: {shown ? value : '••••••••'}
            </code>
          </li>
        ))}
      </ul>
      <Button
        variant="subtle"
        color="gray"
        size="compact-xs"
        leftSection={<Eye size={14} aria-hidden />}
        onClick={() => setShown(!shown)}
      >
        {shown ? 'Hide values' : 'Show values'}
      </Button>
    </>
  );
}

function RequestBody({ body }: Pick<Monitor, 'body'>): ReactNode {
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
  statusCode: (code) => `Status code is ${code}`,
  bodyContains: (text) => `Body contains “${text}”`,
  bodyNotContains: (text) => `Body does not contain “${text}”`,
  maxLatency: (ms) => `Latency is at most ${ms} ms`,
  certificateMinDays: (days) => `Certificate is valid for at least ${days} days`,
};

function AssertionList({ assertions }: Pick<Monitor, 'assertions'>): ReactNode {
  const rules = (Object.keys(RULES) as (keyof Assertions)[]).flatMap((key) => {
    const value = assertions?.[key];
    return value === undefined ? [] : [RULES[key](value)];
  });
  if (rules.length === 0) return 'None. Status codes from 200 to 399 pass.';
  return (
    <ul className={classes['rules']}>
      {rules.map((rule) => (
        <li key={rule}>{rule}</li>
      ))}
    </ul>
  );
}

function AsCode({ monitor }: MonitorProps): ReactNode {
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
      <Quiet size="xs" mt="xs">
        {variables.length === 0
          ? 'The command reads the API key from TOCSIN_API_KEY.'
          : `Header values are omitted. Set ${variables.join(', ')} before you run it, and TOCSIN_API_KEY for the command.`}
      </Quiet>
    </>
  );
}
