import { Group } from '@mantine/core';
import type { Assertions, Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { CopyButton } from '../../components/copy-button.tsx';
import { formatSpan } from '../../components/format-time.ts';
import { Time } from '../../components/time.tsx';
import { labelDefaultRegion } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
import classes from './configuration.module.css';
import { ExternalLink } from './external-link.tsx';
import { HeaderList } from './header-list.tsx';
import { ScrollRegion } from './scroll-region.tsx';

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
