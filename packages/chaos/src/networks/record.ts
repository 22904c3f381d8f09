import type { EventFacts, StatusChangeFacts } from '../oracle/record.ts';
import type { Receipt } from '../world/receivers.ts';

/* Times are epoch milliseconds in a record, and milliseconds since the start of the campaign in a plan. */

export interface Span {
  readonly from: number;
  readonly until: number;
}

/**
 * How a region loses its network. Connections fail at once (`blackhole`, `unreachable`), packets to the region are lost (`silent`), or
 * only queries of names are lost (`dns`).
 */
export const CUT_KINDS = ['blackhole', 'unreachable', 'silent', 'dns'] as const;
export type CutKind = (typeof CUT_KINDS)[number];

export interface Cut extends Span {
  readonly region: string;
  readonly kind: CutKind;
}

/** A kill of a region's checker, until the next one is ready. */
export interface Kill extends Span {
  readonly region: string;
}

/** A region whose link to the internet loses packets. */
export interface Loss extends Span {
  readonly region: string;
  /** Of the packets in each direction. */
  readonly percent: number;
}

/** What keeps regions from seeing their targets. */
export interface Disturbances {
  readonly cuts: readonly Cut[];
  readonly kills: readonly Kill[];
}

/**
 * A real outage. `down` responds with 500, `reset` breaks the connection, `hang` does not respond, `gone` has no address. `cold` does not
 * respond to scheduled checks, but responds to a second request right after one.
 */
export interface Outage extends Span {
  readonly kind: 'down' | 'reset' | 'hang' | 'gone' | 'cold';
}

export interface MonitorSettings {
  readonly regions: readonly string[];
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
  readonly recoveryThreshold: number;
  /** Seconds. */
  readonly retryInterval: number | null;
  /** Whether its URL has a name instead of an address. */
  readonly byName: boolean;
}

export interface NetworkMonitor extends MonitorSettings {
  /** The key of its target. */
  readonly key: string;
  readonly isCanary: boolean;
  /** Whether its target, while it is up, sleeps now and then and does not respond to the request that wakes it. */
  readonly sleeps: boolean;
  /** Earliest first. */
  readonly outages: readonly Outage[];
}

/** An event as it is stored. */
export interface CheckFacts extends Pick<
  EventFacts,
  'monitorId' | 'region' | 'timestamp' | 'status' | 'slot' | 'latencyMs'
> {
  readonly inconclusive: boolean;
}

/** Everything that a campaign recorded. */
export interface NetworkRecord extends Disturbances {
  readonly seed: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** False: the regions had no canaries. */
  readonly hasCanaries: boolean;
  readonly plannedCuts: number;
  readonly monitors: readonly (NetworkMonitor & { readonly id: string })[];
  readonly losses: readonly Loss[];
  /** When Postgres showed a region as isolated. */
  readonly isolations: readonly (Span & { readonly region: string })[];
  /** Earliest first. */
  readonly events: readonly CheckFacts[];
  /** Earliest first. */
  readonly changes: readonly Pick<StatusChangeFacts, 'monitorId' | 'from' | 'to' | 'region' | 'timestamp'>[];
  readonly receipts: readonly Pick<Receipt, 'id' | 'body'>[];
  /** The ids of the monitors that are not UP at the end. */
  readonly notUp: readonly string[];
  /** How long this process, with the targets, did not respond at most; milliseconds. */
  readonly longestStallMs: number;
}
