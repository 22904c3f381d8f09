import type { Leadership } from '@tocsin/runtime/leader';
import { type Metrics, registerReadGauge } from '@tocsin/runtime/metrics';
import { Counter, Gauge } from 'prom-client';

/** Why a wave was added to the store or (`stray`) removed: a commit, or what the reconciler found. */
export type SyncCause = 'commit' | 'unapplied' | 'missing' | 'lost' | 'ahead' | 'stray';

/** Metrics of keeping the queue's store in sync with Postgres. */
export interface ScheduleMetrics {
  /** @param waves how many */
  synced(region: string, cause: SyncCause, waves: number): void;
  /** @param count of monitors, each once per region */
  unapplied(count: number): void;
  audited(region: string): void;
  /** Another process exports the age of audits from now on. */
  forgetAudits(): void;
}

export function createScheduleMetrics(registry: Metrics): ScheduleMetrics {
  const registers = [registry];
  const auditedAt = new Map<string, number>();
  const synced = new Counter({
    name: 'tocsin_schedules_synced_total',
    help: 'Waves added to and removed from the queue, by cause: commit, unapplied, missing, lost, ahead or stray.',
    labelNames: ['region', 'cause', 'action'],
    registers,
  });
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
      if (waves > 0) synced.inc({ region, cause, action: cause === 'stray' ? 'removed' : 'applied' }, waves);
    },
    unapplied: (count) => unapplied.set(count),
    audited: (region) => void auditedAt.set(region, performance.now()),
    forgetAudits() {
      auditedAt.clear();
      unapplied.set(0);
    },
  };
}

/** Exports whether this process leads; nothing while it cannot determine the leader. */
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
