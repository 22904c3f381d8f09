import type { Quotas } from '@tocsin/contracts/accounts/account';
import type { WriteContext } from '@tocsin/db/accounts/quotas';
import type { LateRegions } from '@tocsin/db/regions/late-regions';
import type { Egress } from '@tocsin/egress/create-egress';
import type { Producers } from '@tocsin/queue/producers';
import type { FairShares } from '@tocsin/runtime/fair-shares';
import type { HealthChecks } from '@tocsin/runtime/health';
import type { Logger } from '@tocsin/runtime/logger';
import type { Metrics, Reading } from '@tocsin/runtime/metrics';
import type { HeavyReads } from './http/heavy-reads.ts';
import type { Identity } from './identity/create-identity.ts';
import type { LiveStreams } from './live-stream/live-streams.ts';
import type { RegionLoads } from './regions/region-loads.ts';
import type { ApiSettings } from './settings.ts';

export interface ApiContext extends WriteContext {
  readonly quotas: Quotas;
  readonly producers: Pick<Producers, 'addTrigger' | 'addExtraChecks' | 'addStatusChanges' | 'addDeliveries'>;
  readonly egress: Pick<Egress, 'checkUrl'>;
  readonly regionLoads: Pick<RegionLoads, 'read'>;
  /** Regions with late checks, read every two seconds. */
  readonly lateRegions: Reading<LateRegions>;
  /** Call after a commit if the queue may lack the monitor's wave in these regions. */
  readonly schedules: { enqueue(monitorId: string, regions: readonly string[]): void };
  readonly identity: Identity;
  readonly heavyReads: Pick<HeavyReads, 'run'>;
  readonly streams: Pick<LiveStreams, 'open'>;
  /** Triggered checks in progress. */
  readonly triggered: Pick<FairShares, 'acquire'>;
  readonly lastUsed: { note(apiKeyId: string): void };
  readonly settings: ApiSettings;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly ready: HealthChecks;
  /** Aborted at shutdown, so that waiting requests end. */
  readonly shutdown: AbortSignal;
}
