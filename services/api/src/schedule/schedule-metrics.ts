import type { Leadership } from '@tocsin/runtime/leader';
import { type Metrics, registerReadGauge } from '@tocsin/runtime/metrics';
import { Counter, Gauge } from 'prom-client';

/** Why a wave was added, or removed (`stray`). Either a commit, or what the reconciler found. */
export type SyncCause = 'commit' | 'unapplied' | 'missing' | 'lost' | 'ahead' | 'stray';

export interface ScheduleMetrics {
  synced(region: string, cause: SyncCause, waves: number): void;
  /** @param count number of monitors, counted once per region */
  unapplied(count: number): void;
  audited(region: string): void;
  forget(region: string): void;
  /** Another process exports the age of audits from now on. */
  forgetAudits(): void;
}

/** Last synced regions with a counter. Limited, because anyone may name any region. */
const MAX_REGIONS = 100;

export function createScheduleMetrics(registry: Metrics): ScheduleMetrics {
  const registers = [registry];
  const auditedAt = new Map<string, number>();
  const synced = new Counter({
    name: 'tocsin_schedules_synced_total',
    help: 'Waves added to and removed from the queue, by cause: commit, unapplied, missing, lost, ahead or stray.',
    labelNames: ['region', 'cause', 'action'],
    registers,
  });
  const counted = new Map<string, Set<SyncCause>>();
  const stopCounting = (region: string): void => {
    for (const cause of counted.get(region) ?? []) synced.remove({ region, cause, action: actionOf(cause) });
    counted.delete(region);
  };
  const unapplied = new Gauge({
    name: 'tocsin_schedules_unapplied',
    help: 'Schedules that the last run of the reconciler found unapplied; only its leader counts them.',
    registers,
  });
  const auditAge = new Gauge({
    name: 'tocsin_schedule_audit_age_seconds',
    help: "Time since a region's schedules were last compared with the monitors; exported by the leader only.",
    labelNames: ['region'],
    registers: [],
    collect() {
      this.reset();
      for (const [region, at] of auditedAt) this.set({ region }, (performance.now() - at) / 1_000);
    },
  });
  registry.registerMetric(auditAge);
  return {
    synced(region, cause, waves) {
      if (waves === 0) return;
      const causes = counted.get(region) ?? new Set();
      counted.delete(region);
      counted.set(region, causes.add(cause));
      synced.inc({ region, cause, action: actionOf(cause) }, waves);
      const [oldest] = counted.keys();
      if (counted.size > MAX_REGIONS && oldest !== undefined) stopCounting(oldest);
    },
    unapplied: (count) => unapplied.set(count),
    audited: (region) => void auditedAt.set(region, performance.now()),
    forget(region) {
      stopCounting(region);
      auditedAt.delete(region);
    },
    forgetAudits() {
      auditedAt.clear();
      unapplied.set(0);
    },
  };
}

function actionOf(cause: SyncCause): 'removed' | 'applied' {
  return cause === 'stray' ? 'removed' : 'applied';
}

/** Exports whether this process leads, or nothing while the leader is unknown. */
export function registerLeadership(registry: Metrics, leadership: () => Leadership): void {
  registerReadGauge<never>(registry, {
    name: 'tocsin_leader',
    help: 'Whether this api leads: 1 in one process, 0 in the others; absent while the leader is unknown.',
    labelNames: [],
    samples: async () => {
      const known = leadership();
      return known === 'unknown' ? null : [{ labels: {}, value: known === 'leader' ? 1 : 0 }];
    },
  });
}
