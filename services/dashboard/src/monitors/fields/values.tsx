import { Button, Code } from '@mantine/core';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { type ReactNode, useState } from 'react';
import { TextBlock } from '../../components/code.tsx';
import { LabelChips } from '../../labels/label-chips.tsx';
import { labelDefaultRegion } from '../../regions/regions.ts';
import { useCan, useDefaultRegion } from '../../session/session.ts';

interface MonitorProps {
  readonly monitor: Monitor;
}

/** Header values may be secrets, so they are hidden at first. */
export function HeaderList({ monitor }: MonitorProps): ReactNode {
  const [shown, setShown] = useState(false);
  const can = useCan();
  const entries = Object.entries(monitor.headers ?? {});
  if (entries.length === 0) return 'None';
  const Eye = shown ? IconEyeOff : IconEye;
  return (
    <>
      <ul className="plain-list">
        {entries.map(([name, value]) => (
          <li key={name}>
            <Code>
              {name}: {shown ? value : '••••••••'}
            </Code>
          </li>
        ))}
      </ul>
      {can.change && (
        <Button
          variant="subtle"
          color="gray"
          size="compact-xs"
          leftSection={<Eye size={14} aria-hidden />}
          onClick={() => setShown(!shown)}
        >
          {shown ? 'Hide values' : 'Show values'}
        </Button>
      )}
    </>
  );
}

export function RequestBody({ monitor: { body } }: MonitorProps): ReactNode {
  const can = useCan();
  if (body === null) return 'None';
  if (!can.change) return 'Hidden from viewers';
  return (
    <details>
      <summary>Show the body ({body.length} characters)</summary>
      <TextBlock label="Request body" mah={200} mt="xs">
        {body}
      </TextBlock>
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
