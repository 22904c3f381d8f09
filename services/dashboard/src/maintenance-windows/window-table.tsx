import { Table, Text } from '@mantine/core';
import type { ListedMaintenanceWindow, MaintenanceWindowState } from '@tocsin/contracts/maintenance-window';
import type { ReactNode } from 'react';
import { CardCell, CardTable } from '../components/card-table.tsx';
import { TextLink } from '../components/text-link.tsx';
import { Time } from '../components/time.tsx';
import { ScheduleSentence } from './schedule-sentence.tsx';

interface WindowTableProps {
  readonly label: string;
  readonly state: MaintenanceWindowState;
  readonly windows: readonly ListedMaintenanceWindow[];
}

const WHEN = { running: 'Ends', scheduled: 'Next', ended: 'Began' } as const;

/** Windows in one state. */
export function WindowTable({ label, state, windows }: WindowTableProps): ReactNode {
  return (
    <CardTable label={label} columns={['Name', WHEN[state], 'Plan', 'Monitors']}>
      {windows.map((window) => (
        <Table.Tr key={window.id}>
          <CardCell column="Name" heading>
            <TextLink to="/maintenance/$windowId" params={{ windowId: window.id }} fw={600}>
              {window.name}
            </TextLink>
          </CardCell>
          <CardCell column={WHEN[state]}>
            <When window={window} />
          </CardCell>
          <CardCell column="Plan">
            <Text size="sm" c="var(--text-quiet)" maw={480}>
              <ScheduleSentence schedule={window} />
            </Text>
          </CardCell>
          <CardCell column="Monitors">
            <span className="tabular">{window.monitorIds.length}</span>
          </CardCell>
        </Table.Tr>
      ))}
    </CardTable>
  );
}

function When({ window }: { readonly window: ListedMaintenanceWindow }): ReactNode {
  const { state, currentOccurrence, nextOccurrence, startsAt } = window;
  if (state === 'ended') return <Time value={startsAt} />;
  const moment = state === 'running' ? currentOccurrence?.endsAt : nextOccurrence?.startsAt;
  if (moment === undefined) return '–';
  return (
    <div>
      <Time value={moment} as="ago" />
      <Text size="xs" c="var(--text-quiet)">
        <Time value={moment} />
      </Text>
    </div>
  );
}
