import { Skeleton } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import type { ReactNode } from 'react';
import { describeError } from '../../api/request.ts';
import { Panel } from '../../components/page.tsx';
import { Time, useNow } from '../../components/text.tsx';
import { monitorRegionsQuery, monitorStatsQuery } from '../queries.ts';
import {
  describeChecks,
  describeExpiry,
  formatUptime,
  hasChecks,
  soonestExpiry,
  WINDOW_NAMES,
  WINDOWS,
} from './figures.ts';
import classes from './show.module.css';

/** The uptime in each window, and when the certificate expires. */
export function UptimePanel({ monitor: { id, url } }: { readonly monitor: Monitor }): ReactNode {
  return (
    <Panel title="Uptime">
      <dl className={classes['figures']}>
        {WINDOWS.map((window) => (
          <Uptime key={window} monitorId={id} window={window} />
        ))}
        {/^https:/i.test(url) && <Certificate monitorId={id} />}
      </dl>
    </Panel>
  );
}

interface UptimeProps {
  readonly monitorId: string;
  readonly window: StatsWindow;
}

function Uptime({ monitorId, window }: UptimeProps): ReactNode {
  const query = useQuery(monitorStatsQuery(monitorId, window));
  return (
    <Figure
      label={WINDOW_NAMES[window]}
      query={query}
      describe={(stats) => ({
        value: stats.uptime === null ? 'No checks' : formatUptime(stats.uptime),
        note: hasChecks(stats) ? describeChecks(stats) : 'None in this period',
      })}
    />
  );
}

function Certificate({ monitorId }: { readonly monitorId: string }): ReactNode {
  const query = useQuery(monitorRegionsQuery(monitorId));
  const now = useNow();
  return (
    <Figure
      label="Certificate"
      query={query}
      describe={(regions) => {
        const expiry = soonestExpiry(regions, now);
        if (expiry === null)
          return { look: 'quiet', value: 'Unknown', note: 'Known after the next HTTPS check' };
        const { state, expiresAt } = expiry;
        return {
          look: state,
          value: (
            <>
              {state !== 'fine' && <IconAlertTriangle size={20} aria-hidden />} {describeExpiry(expiry)}
            </>
          ),
          note: (
            <>
              {state === 'expired' ? 'Since' : 'Until'} <Time value={expiresAt} />
            </>
          ),
        };
      }}
    />
  );
}

interface FigureProps<Data> {
  readonly label: string;
  readonly query: { readonly data: Data | undefined; readonly error: unknown };
  /** `look` is a class of the value. */
  readonly describe: (data: Data) => {
    readonly look?: string;
    readonly value: ReactNode;
    readonly note: ReactNode;
  };
}

function Figure<Data>({ label, query: { data, error }, describe }: FigureProps<Data>): ReactNode {
  const {
    look = '',
    value,
    note,
  } = data === undefined
    ? { value: null, note: error === null ? null : describeError(error) }
    : describe(data);
  return (
    <div className={classes['figure']}>
      <dt>{label}</dt>
      <dd>
        {value !== null && (
          <span className={`${classes['value'] ?? ''} ${classes[look] ?? ''} tabular`}>{value}</span>
        )}
        {note === null ? <Skeleton height={50} mt={4} /> : <div className={classes['note']}>{note}</div>}
      </dd>
    </div>
  );
}
