import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { UnstyledButton } from '@mantine/core';
import type { ReactNode } from 'react';
import { StatusBadge } from '../../components/status-badge.tsx';
import { STATUS_ORDER, type StatusCounts } from './arrange-monitors.ts';
import classes from './status-filter.module.css';

interface StatusFilterProps {
  readonly counts: StatusCounts;
  /** Undefined: all. */
  readonly value: MonitorStatus | undefined;
  readonly onChange: (status: MonitorStatus | undefined) => void;
}

/** How many monitors have which status, and a choice of one. */
export function StatusFilter({ counts, value, onChange }: StatusFilterProps): ReactNode {
  const all = STATUS_ORDER.reduce((sum, status) => sum + counts[status], 0);
  return (
    <div role="group" aria-label="Show by status" className={classes['group']}>
      <Chip isOn={value === undefined} count={all} onClick={() => onChange(undefined)}>
        All
      </Chip>
      {STATUS_ORDER.map((status) => (
        <Chip
          key={status}
          isOn={value === status}
          count={counts[status]}
          onClick={() => onChange(value === status ? undefined : status)}
        >
          <StatusBadge status={status} />
        </Chip>
      ))}
    </div>
  );
}

interface ChipProps {
  readonly isOn: boolean;
  readonly count: number;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function Chip({ isOn, count, onClick, children }: ChipProps): ReactNode {
  return (
    <UnstyledButton
      className={classes['chip'] ?? ''}
      aria-pressed={isOn}
      mod={{ none: count === 0 }}
      onClick={onClick}
    >
      {children} <span className={classes['count']}>{count.toLocaleString()}</span>
    </UnstyledButton>
  );
}
