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
  const { data: stats, error } = useQuery(monitorStatsQuery(monitorId, window));
  const label = WINDOW_NAMES[window];
  if (stats === undefined) return <MissingFigure label={label} error={error} />;
  const { uptime, checks, gaps } = stats;
  return (
    <Figure
      label={label}
      value={uptime === null ? 'No checks' : formatUptime(uptime)}
      note={checks > 0 || gaps > 0 ? describeChecks(stats) : 'None in this period'}
    />
  );
}

function Certificate({ monitorId }: { readonly monitorId: string }): ReactNode {
  const { data: regions, error } = useQuery(monitorRegionsQuery(monitorId));
  const now = useNow();
  const label = 'Certificate';
  if (regions === undefined) return <MissingFigure label={label} error={error} />;
  const expiry = soonestExpiry(regions ?? [], now);
  if (expiry === null)
    return <Figure label={label} look="quiet" value="Unknown" note="Known after the next HTTPS check" />;
  const { state, expiresAt } = expiry;
  return (
    <Figure
      label={label}
      look={state}
      value={
        <>
          {state !== 'fine' && <IconAlertTriangle size={20} aria-hidden />} {describeExpiry(expiry)}
        </>
      }
      note={
        <>
          {state === 'expired' ? 'Since' : 'Until'} <Time value={expiresAt} />
        </>
      }
    />
  );
}

interface FigureProps {
  readonly label: string;
  /** A class of the value. */
  readonly look?: string;
  readonly value: ReactNode;
  readonly note: ReactNode;
}

function Figure({ label, look = '', value, note }: FigureProps): ReactNode {
  return (
    <div className={classes['figure']}>
      <dt>{label}</dt>
      <dd>
        <span className={`${classes['value'] ?? ''} ${classes[look] ?? ''} tabular`}>{value}</span>
        <div className={classes['note']}>{note}</div>
      </dd>
    </div>
  );
}

/** A figure that is loading or failed to load. */
function MissingFigure({ label, error }: { readonly label: string; readonly error: unknown }): ReactNode {
  return (
    <div className={classes['figure']}>
      <dt>{label}</dt>
      <dd>
        {error === null ? (
          <Skeleton height={50} mt={4} />
        ) : (
          <div className={classes['note']}>{describeError(error)}</div>
        )}
      </dd>
    </div>
  );
}
