import type { Labels } from '@tocsin/contracts/labels/labels';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { EventRow } from '@tocsin/db/events/table';
import type { FrozenWebhookEvent } from '@tocsin/db/status-changes/table';
import type { ReplicaPlan } from '../plan/replicas.ts';
import type { ChannelPlan, ChannelScope, MonitorPlan, NeighborPlan } from '../plan/world.ts';
import type { Receipt } from '../world/receivers.ts';
import type { TargetVisit } from '../world/targets.ts';

/* All times are epoch milliseconds. */

/** A value that a request has written: at some time between the request and its response. */
export interface Edit<Value> {
  readonly from: number;
  /** Infinity until there is a response. */
  until: number;
  readonly value: Value;
}

/** A monitor that a campaign created. The campaign updates it with each change that it requests. */
export interface MonitorFacts {
  readonly id: string;
  readonly plan: MonitorPlan;
  readonly createdAt: number;
  /** Default: PENDING. */
  readonly initialStatus?: 'UP';
  /** Every name that it was given. */
  readonly names: string[];
  /** Later edits of the threshold, with their timestamp in Postgres. */
  readonly thresholds: { readonly at: number; readonly value: number }[];
  /** Later edits of the labels. */
  readonly relabeled: Edit<Labels>[];
  /** The latest time at which it was deleted; null if it exists. */
  deletedAt: number | null;
}

export interface ChannelFacts {
  readonly id: string;
  readonly secret: string;
  readonly plan: ChannelPlan;
  /** Later edits of the selector and the events. */
  readonly rescoped: Edit<ChannelScope>[];
}

/** An event as it is stored. */
export interface EventFacts extends Pick<
  EventRow,
  | 'id'
  | 'monitorId'
  | 'status'
  | 'inconclusive'
  | 'statusCode'
  | 'errorReason'
  | 'latencyMs'
  | 'region'
  | 'source'
  | 'url'
> {
  readonly timestamp: number;
  readonly slot: number | null;
}

export interface StatusChangeFacts {
  readonly id: string;
  readonly monitorId: string;
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  readonly region: string;
  readonly timestamp: number;
  readonly webhookEvents: readonly FrozenWebhookEvent[];
  readonly channelIds: readonly string[];
}

export interface DeliveryFacts {
  readonly id: string;
  readonly channelId: string;
  readonly statusChangeId: string;
  readonly monitorId: string;
  readonly event: string;
  readonly payload: string;
  readonly state: string;
  readonly attemptCount: number;
  /** Attempts in the log. */
  readonly attempts: number;
}

/** Work that is due but not done. */
export interface Backlog {
  /** Status changes without their deliveries. */
  readonly undispatched: number;
  /** Deliveries whose attempt has been due for longer than a few seconds, or has no time at all. */
  readonly overdue: number;
}

/** The content of Postgres at the end. */
export interface DatabaseFacts {
  /** In the order of their timestamps. */
  readonly events: readonly EventFacts[];
  /** In the order of their timestamps. */
  readonly statusChanges: readonly StatusChangeFacts[];
  readonly deliveries: readonly DeliveryFacts[];
  readonly incidents: readonly {
    readonly monitorId: string;
    readonly openedAt: number;
    readonly resolvedAt: number | null;
  }[];
  readonly backlog: Backlog;
  readonly monitors: readonly {
    readonly id: string;
    readonly name: string;
    readonly failureThreshold: number;
    readonly status: MonitorStatus;
    readonly labels: Labels;
  }[];
  readonly channels: readonly {
    readonly id: string;
    readonly selector: ChannelScope['selector'];
    /** The monitors that are assigned to it by its selector. */
    readonly matchedIds: readonly string[];
  }[];
  /** Keys of windows that are recorded as missed. */
  readonly missedWindows: readonly string[];
}

/** The records of the targets, Postgres and the receivers: the evidence of every run. */
export interface Evidence {
  readonly monitors: readonly MonitorFacts[];
  readonly channels: readonly ChannelFacts[];
  readonly visits: readonly TargetVisit[];
  readonly receipts: readonly Receipt[];
  /** Requests to paths without a receiver. */
  readonly strays: readonly string[];
  readonly database: DatabaseFacts;
}

export interface FiredFault {
  readonly name: string;
  /** The replica or the receiver; null for faults of a store, or of the leader. */
  readonly victim: string | null;
  /** Null: it was not fired. */
  readonly firedAt: number | null;
  readonly endedAt: number | null;
  /** Why it was not fired. */
  readonly note: string;
}

/** A monitor of the neighbor, and its results. */
export interface NeighborFacts {
  readonly id: string;
  readonly plan: NeighborPlan;
  readonly visits: readonly TargetVisit[];
  /** Timestamps of its events, earliest first. */
  readonly eventTimestamps: readonly number[];
  /** The number of its events with status UP. */
  readonly upEvents: number;
  readonly deliveries: number;
}

/** A maintenance window that the API accepted. */
export interface WindowFacts {
  readonly key: string;
  /** By key. */
  readonly monitors: readonly string[];
  readonly startsAt: number;
  readonly endsAt: number;
  /** When the API knew of it at the latest. */
  readonly plannedAt: number;
  /** The time between the request that ended or deleted it early, and its response. Null: there was none. */
  cut: { readonly from: number; until: number } | null;
}

/** A delivery that no receiver had accepted when the system was quiet, before any redelivery by hand. */
export interface UndeliveredFacts {
  readonly id: string;
  readonly channelId: string;
  readonly isChannelEnabled: boolean;
  readonly state: string;
  /** Since the last redelivery. */
  readonly attempts: number;
  /** Milliseconds until its next attempt; null: none is planned. */
  readonly dueInMs: number | null;
}

/** The counters of checks that an api returned, by monitor, region and result, separated by spaces. */
export interface Scrape {
  readonly api: string;
  readonly counters: ReadonlyMap<string, number>;
}

/** Everything that a fault campaign recorded. */
export interface CampaignRecord extends Evidence {
  readonly seed: number;
  readonly minutes: number;
  readonly startedAt: number;
  readonly lastFaultAt: number;
  readonly endedAt: number;
  /** Kinds of faults that must be fired. */
  readonly kinds: readonly string[];
  readonly faults: readonly FiredFault[];
  readonly replicas: readonly ReplicaPlan[];
  readonly neighbor: readonly NeighborFacts[];
  /** Evidence that the services handled the neighbor's monitors. */
  readonly neighborEvidence: {
    /** Results that Postgres refused. */
    readonly refusals: number;
    /** Lookups of names that never resolve, by replica. */
    readonly hungLookups: ReadonlyMap<string, number>;
    /** Planned checks that did not run because their monitor was unreadable, by region. */
    readonly unreadable: ReadonlyMap<string, number>;
  };
  /** Monitors that an api confirmed as created, to a client that then repeated the request. */
  readonly promised: readonly { readonly id: string; readonly key: string }[];
  readonly windows: readonly WindowFacts[];
  /** Redeliveries that the API accepted, with a time before the request. */
  readonly redelivered: readonly { readonly id: string; readonly since: number }[];
  /** Event ids by monitor, in the order in which a client that polls with `since` received them. */
  readonly tails: ReadonlyMap<string, readonly string[]>;
  /** In their order: each began after the one before it had ended. At the end, one from each api. */
  readonly scrapes: readonly Scrape[];
  /** The status by monitor that the API showed at the end. */
  readonly shown: ReadonlyMap<string, string>;
  /** Undelivered deliveries, and the ids of those that the API's delivery log showed. */
  readonly undelivered: { readonly stored: readonly UndeliveredFacts[]; readonly shown: readonly string[] };
  /** When the system was quiet, before any redelivery by hand. */
  readonly backlogBeforeRedelivery: Backlog;
  /** Unexpected ends of services, exit codes, missing readiness; one sentence each. */
  readonly serviceProblems: readonly string[];
  /** Requests to the API by status; 0: no response. */
  readonly apiStatuses: ReadonlyMap<number, number>;
}

/** An invariant, and a function that returns one sentence for each violation of it. */
export type Check<Of> = readonly [invariant: string, find: (record: Of) => string[]];

/** An invariant that does not hold. */
export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}
