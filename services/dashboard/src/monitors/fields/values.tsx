import { Button } from '@mantine/core';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { type ReactNode, useState } from 'react';
import { ScrollRegion } from '../../components/page.tsx';
import { LabelChips } from '../../labels/label-chips.tsx';
import { labelDefaultRegion } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
import classes from './values.module.css';

interface MonitorProps {
  readonly monitor: Monitor;
}

/** Header values may be secrets, so they are hidden at first. */
export function HeaderList({ monitor }: MonitorProps): ReactNode {
  const [shown, setShown] = useState(false);
  const entries = Object.entries(monitor.headers ?? {});
  if (entries.length === 0) return 'None';
  const Eye = shown ? IconEyeOff : IconEye;
  return (
    <>
      <ul className="plain-list">
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

export function RequestBody({ monitor: { body } }: MonitorProps): ReactNode {
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

export function RegionList({ monitor: { regions } }: MonitorProps): ReactNode {
  const defaultRegion = useDefaultRegion();
  return regions.length === 0 ? labelDefaultRegion(defaultRegion) : regions.join(', ');
}

export function LabelList({ monitor: { labels } }: MonitorProps): ReactNode {
  return Object.keys(labels).length === 0 ? 'None' : <LabelChips labels={labels} />;
}
