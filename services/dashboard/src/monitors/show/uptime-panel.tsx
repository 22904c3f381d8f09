import { Skeleton } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import type { ReactNode } from 'react';
import { describeError } from '../../api/request.ts';
import { Panel } from '../../components/page.tsx';
import { Time, useNow } from '../../components/time.tsx';
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

/** The part of the checks that passed, of four windows, and how long the certificate still holds. */
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

function Uptime({
  monitorId,
  window,
}: {
  readonly monitorId: string;
  readonly window: StatsWindow;
}): ReactNode {
  const { data: stats, error } = useQuery(monitorStatsQuery(monitorId, window));
  return (
    <Figure label={WINDOW_NAMES[window]}>
      {stats ? (
        <>
          <span className={`${classes['value'] ?? ''} tabular`}>
            {stats.uptime === null ? 'No checks' : formatUptime(stats.uptime)}
          </span>
          <div className={classes['note']}>
            {stats.checks > 0 || stats.gaps > 0 ? describeChecks(stats) : 'None within this time'}
          </div>
        </>
      ) : (
        <NotKnown error={error} />
      )}
    </Figure>
  );
}

function Figure({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className={classes['figure']}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** What stands for a figure that is on its way, or did not come. */
function NotKnown({ error }: { readonly error: unknown }): ReactNode {
  if (error === null) return <Skeleton height={50} mt={4} />;
  return <div className={classes['note']}>{describeError(error)}</div>;
}

function Certificate({ monitorId }: { readonly monitorId: string }): ReactNode {
  const { data: regions, error } = useQuery(monitorRegionsQuery(monitorId));
  const now = useNow();
  return (
    <Figure label="Certificate">
      {regions === undefined ? (
        <NotKnown error={error} />
      ) : (
        <CertificateEnd expiry={soonestExpiry(regions ?? [], now)} />
      )}
    </Figure>
  );
}

function CertificateEnd({ expiry }: { readonly expiry: ReturnType<typeof soonestExpiry> }): ReactNode {
  if (expiry === null)
    return (
      <>
        <span className={`${classes['value'] ?? ''} ${classes['quiet'] ?? ''}`}>Not seen yet</span>
        <div className={classes['note']}>Known after the next check over TLS</div>
      </>
    );
  const { state, expiresAt } = expiry;
  return (
    <>
      <span className={`${classes['value'] ?? ''} ${classes[state] ?? ''} tabular`}>
        {state !== 'fine' && <IconAlertTriangle size={20} aria-hidden />} {describeExpiry(expiry)}
      </span>
      <div className={classes['note']}>
        {state === 'expired' ? 'Since' : 'Until'} <Time value={expiresAt} />
      </div>
    </>
  );
}
