import type { Labels } from '@tocsin/contracts/labels/labels';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { DeliveryRow } from '@tocsin/db/deliveries/table';
import type { EventRow } from '@tocsin/db/events/table';
import type { FrozenWebhookEvent } from '@tocsin/db/status-changes/table';
import type { ReplicaPlan } from '../faults/replica-plans.ts';
import type { ChannelPlan, ChannelScope, MonitorPlan, NeighborPlan } from '../load/world-plan.ts';
import type { Receipt } from '../world/receivers.ts';
import type { TargetVisit } from '../world/targets.ts';

/* The recorded history of a run, which the oracle evaluates. All times are epoch milliseconds. */

export interface Span {
  readonly from: number;
  readonly until: number;
}

/** A value that was written at some time between a request and its response. */
export interface Edit<Value> {
  readonly from: number;
  /** Infinity until there is a response. */
  until: number;
  readonly value: Value;
}

/** A monitor that the run created, with its later edits. */
export interface MonitorFacts<Plan extends MonitorPlan = MonitorPlan> {
  readonly id: string;
  readonly plan: Plan;
  readonly createdAt: number;
  readonly names: string[];
  /** Changes of the threshold, with their timestamps from Postgres. */
  readonly thresholds: { readonly at: number; readonly value: number }[];
  readonly relabeled: Edit<Labels>[];
  /** The latest time at which the monitor can have been deleted, or null. */
  deletedAt: number | null;
}

export interface ChannelFacts {
  readonly id: string;
  readonly secret: string;
  readonly plan: ChannelPlan;
  readonly rescoped: Edit<ChannelScope>[];
}

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

export interface DeliveryFacts extends Pick<
  DeliveryRow,
  'id' | 'channelId' | 'statusChangeId' | 'monitorId' | 'event' | 'payload' | 'state' | 'attemptCount'
> {
  /** Attempts in the delivery log. */
  readonly attempts: number;
}

export interface Backlog {
  /** Status changes without deliveries. */
  readonly undispatched: number;
  /** Deliveries that have been due for several seconds, or have no due time. */
  readonly overdue: number;
}

/** The content of Postgres at the end of a run, in the order of timestamps. */
export interface DatabaseFacts {
  readonly events: readonly EventFacts[];
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
    readonly matchedIds: readonly string[];
  }[];
  readonly missedWindows: readonly string[];
}

/** Evidence that every run records. */
export interface Evidence {
  readonly seed: number;
  readonly startedAt: number;
  readonly endedAt: number;
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
  /** A replica or a receiver. Null for a fault of a store or of the leader. */
  readonly victim: string | null;
  /** Null if the fault was not fired. */
  readonly firedAt: number | null;
  readonly endedAt: number;
  /** Why the fault was not fired. Empty if it was. */
  readonly note: string;
}

export interface NeighborFacts {
  readonly id: string;
  readonly plan: NeighborPlan;
  readonly visits: readonly TargetVisit[];
  /** Timestamps of its events, earliest first. */
  readonly eventTimestamps: readonly number[];
  readonly upEvents: number;
  readonly deliveries: number;
}

/** A maintenance window that the API accepted. Monitors are identified by key. */
export interface WindowFacts {
  readonly key: string;
  readonly monitors: readonly string[];
  readonly startsAt: number;
  readonly endsAt: number;
  readonly plannedAt: number;
  /** Set if a request ended or deleted the window early. Lasts from the request to its response. */
  cut: { readonly from: number; until: number } | null;
}

/** A delivery that no receiver had accepted when the system was quiet, before any manual redelivery. */
export interface UndeliveredFacts {
  readonly id: string;
  readonly channelId: string;
  readonly isChannelEnabled: boolean;
  readonly state: string;
  readonly attempts: number;
  /** Milliseconds until the next attempt, or null if none is planned. */
  readonly dueInMs: number | null;
}

/** Check counters as one api returned them. Keys are monitor, region and result, separated by spaces. */
export interface Scrape {
  readonly api: string;
  readonly counters: ReadonlyMap<string, number>;
}

export interface FaultRecord extends Evidence {
  readonly campaign: 'faults';
  readonly lastFaultAt: number;
  readonly kinds: readonly string[];
  readonly faults: readonly FiredFault[];
  readonly replicas: readonly ReplicaPlan[];
  readonly neighbor: readonly NeighborFacts[];
  /** Evidence that the services handled the neighbor's monitors. */
  readonly neighborEvidence: {
    readonly refusals: number;
    /** Lookups of names that never resolve, by replica. */
    readonly hungLookups: ReadonlyMap<string, number>;
    /** Planned checks that did not run because their monitor was unreadable, by region. */
    readonly unreadable: ReadonlyMap<string, number>;
  };
  /** Monitors that an api confirmed as created. The client then repeated the request. */
  readonly promised: readonly { readonly id: string; readonly key: string }[];
  readonly windows: readonly WindowFacts[];
  /** Redeliveries that the API accepted, with a time just before the request. */
  readonly redelivered: readonly { readonly id: string; readonly since: number }[];
  /** Event ids by monitor, as a client that polls with `since` received them. */
  readonly tails: ReadonlyMap<string, readonly string[]>;
  /** Scrapes of alternating apis. At the end, each api is scraped once. */
  readonly scrapes: readonly Scrape[];
  /** Status by monitor as the API showed it at the end. */
  readonly shown: ReadonlyMap<string, string>;
  /** Undelivered deliveries in Postgres, and the delivery ids that the API's delivery log showed. */
  readonly undelivered: { readonly stored: readonly UndeliveredFacts[]; readonly shown: readonly string[] };
  /** The backlog when the system was quiet, before any manual redelivery. */
  readonly backlogBeforeRedelivery: Backlog;
  /** One sentence for each service that ended unexpectedly, had an unexpected exit code, or was not ready. */
  readonly serviceProblems: readonly string[];
  /** Responses by status. 0 stands for no response. */
  readonly apiStatuses: ReadonlyMap<number, number>;
}

/** A run without faults. Its evidence covers the monitors whose target fails. */
export interface SteadyRecord extends Evidence {
  readonly campaign: 'steady';
  readonly restarts: number;
  /** All monitors that are never deleted. */
  readonly all: readonly { readonly id: string; readonly key: string }[];
  /** Numbers of planned checks, of planned checks with an event, and of events. */
  readonly slots: { readonly planned: number; readonly checked: number; readonly events: number };
  readonly misses: Readonly<Record<string, number>>;
  /** Number of events by monitor. Passed checks have status code 200, and failed ones 500. */
  readonly eventCounts: ReadonlyMap<string, Readonly<Record<'all' | 'passed' | 'failed', number>>>;
  readonly failedAttempts: readonly string[];
  readonly notStreamed: readonly string[];
  /** Shutdowns by SIGTERM. A null exit code means that a signal ended the service. */
  readonly stops: readonly {
    readonly name: string;
    readonly exitCode: number | null;
    readonly stopMs: number;
  }[];
  readonly api: {
    readonly responses: number;
    readonly broken: readonly string[];
    readonly unexpected: readonly string[];
  };
  readonly stream: Readonly<Record<'records' | 'unavailable' | 'unexpected' | 'broken' | 'resets', number>>;
  readonly logErrors: readonly string[];
  /** Null if the queues' events were not kept. */
  readonly stalls: {
    readonly stalled: readonly string[];
    readonly silent: readonly string[];
    readonly unseen: number;
  } | null;
  readonly growing: readonly string[];
}

/**
 * How a region loses its network. Connections fail at once (`blackhole`, `unreachable`), packets to the region are lost (`silent`),
 * or only DNS queries are lost (`dns`).
 */
export const CUT_KINDS = ['blackhole', 'unreachable', 'silent', 'dns'] as const;
/** How an agent loses its network, or only its gateways. */
export const AGENT_CUT_KINDS = ['blackhole', 'gateway', 'silent', 'unreachable'] as const;
export type CutKind = (typeof CUT_KINDS | typeof AGENT_CUT_KINDS)[number];

export interface RegionSpan extends Span {
  readonly region: string;
}
export interface Cut extends RegionSpan {
  readonly kind: CutKind;
}
export interface Loss extends RegionSpan {
  /** Share of packets lost in each direction. */
  readonly percent: number;
}

export interface Disturbances {
  readonly cuts: readonly Cut[];
  /** Times from each kill of a region's checker until the next checker is ready. */
  readonly kills: readonly RegionSpan[];
}

/**
 * An outage of a target. `down` responds with 500, `reset` breaks the connection, `hang` does not respond, `gone` has no address.
 * `cold` does not respond to scheduled checks, but responds to a second request right after one.
 */
export interface Outage extends Span {
  readonly kind: 'down' | 'reset' | 'hang' | 'gone' | 'cold';
}

export interface NetworkMonitor extends MonitorPlan {
  readonly isCanary: boolean;
  /** The target sleeps now and then while it is up, and does not respond to the request that wakes it. */
  readonly sleeps: boolean;
  /** Earliest first. */
  readonly outages: readonly Outage[];
}

export interface NetworkRecord extends Evidence, Disturbances {
  readonly campaign: 'networks';
  readonly hasCanaries: boolean;
  readonly plannedCuts: number;
  readonly monitors: readonly MonitorFacts<NetworkMonitor>[];
  readonly losses: readonly Loss[];
  /** Times during which Postgres listed a region as isolated. */
  readonly isolations: readonly RegionSpan[];
  readonly shown: ReadonlyMap<string, string>;
  /** Longest stall of the process that serves the targets. */
  readonly longestStallMs: number;
  /** Null if checkers probe. */
  readonly agents: AgentFacts | null;
}

/** Cuts and kills of each agent and each gateway. Their `region` is its name, which begins with the region of the agent. */
export interface AgentFacts extends Disturbances {
  /** Names of the agents by address. */
  readonly addresses: ReadonlyMap<string, string>;
}

/** The kill of a store, with the times until the first and until every monitor had a check that was planned later. */
export interface StoreKill {
  readonly store: 'Redis' | 'PostgreSQL';
  readonly at: number;
  readonly firstMs: number;
  readonly allMs: number;
}

export interface StoresRecord extends Evidence {
  readonly campaign: 'stores';
  readonly kills: readonly StoreKill[];
}

/** A span during which some parts of a deployed system are replaced. It counts the planned checks of all monitors. */
export interface RolloutPhase {
  readonly name: string;
  readonly seconds: number;
  readonly planned: number;
  /** Planned checks with an event, and the number of events. */
  readonly checked: number;
  readonly events: number;
  /** Failed checks, and those to which the target did not respond. */
  readonly failed: number;
  readonly unanswered: number;
  /** The longest time from a planned check to its event, in milliseconds. Null without events. */
  readonly latestMs: number | null;
  /** Share of planned checks that may be missed, because a crash can lose a running check. */
  readonly maxMissedShare: number;
}

/** A run in containers or pods. Its evidence covers the monitors whose target fails. */
export interface RolloutRecord extends Evidence {
  readonly campaign: 'rollout';
  readonly phases: readonly RolloutPhase[];
  readonly shown: ReadonlyMap<string, string>;
}

export type RunRecord = FaultRecord | SteadyRecord | NetworkRecord | StoresRecord | RolloutRecord;

/** An invariant, and a function that describes each violation in one sentence. */
export type Check<Of> = readonly [invariant: string, find: (record: Of) => string[]];

export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}
