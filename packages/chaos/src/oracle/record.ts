import type { CheckSource, CheckStatus, ErrorReason, MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { FrozenWebhookEvent } from '@tocsin/db/status-changes/table';
import type { FaultKind } from '../plan/fault-kinds.ts';
import type { NeighbourPlan } from '../plan/plan-neighbour.ts';
import type { MonitorPlan, ChannelPlan } from '../plan/plan-world.ts';
import type { SlotPlan } from '../plan/slots.ts';
import type { NeighbourVisit } from '../world/neighbour-targets.ts';
import type { Receipt } from '../world/receivers.ts';
import type { TargetAnswer } from '../world/targets.ts';

/** A fault as it came about; times are epoch milliseconds. */
export interface FiredFault {
  readonly name: FaultKind['name'];
  readonly victim: string | null;
  /** Null: its moment never came. */
  readonly firedAt: number | null;
  readonly endedAt: number | null;
  /** Why it was not fired, or what else is worth saying. */
  readonly note: string;
}

/** A monitor that the campaign made. */
export interface MonitorFacts {
  readonly id: string;
  readonly plan: MonitorPlan;
  readonly createdAt: number;
  /** Every name that it was given. */
  readonly names: readonly string[];
  /** Thresholds that it was given later, with the moment that Postgres stamped them with. */
  readonly thresholds: readonly { readonly at: number; readonly value: number }[];
  /** When it was gone at the latest; null: it is still there. */
  readonly deletedAt: number | null;
}

/** A monitor of the neighbour, and what became of it. */
export interface NeighbourFacts {
  readonly id: string;
  readonly plan: NeighbourPlan;
  /** Requests that its target got. */
  readonly visits: readonly NeighbourVisit[];
  /** When its events are stamped, earliest first. */
  readonly eventStamps: readonly number[];
  /** Of its events, those that say UP. */
  readonly upEvents: number;
  readonly deliveries: number;
}

/** What the services met of the neighbour: without it, it proves nothing. */
interface NeighbourMet {
  /** Results that Postgres refused. */
  readonly refusals: number;
  /** Lookups of names that never resolve, by replica. */
  readonly hungLookups: ReadonlyMap<string, number>;
  /** Planned checks that did not run since their monitor could not be read, by region. */
  readonly unreadable: ReadonlyMap<string, number>;
}

/** Maintenance that the API took; epoch milliseconds. */
export interface WindowFacts {
  readonly key: string;
  /** By key. */
  readonly monitors: readonly string[];
  readonly startsAt: number;
  readonly endsAt: number;
  /** When the API knew of it at the latest. */
  readonly plannedAt: number;
  /** When it was ended or deleted before its time: asked for, and answered at the latest. Null: it was not. */
  readonly cut: { readonly from: number; readonly until: number } | null;
}

/** A delivery that the API said it makes again. */
export interface RedeliveryFacts {
  readonly id: string;
  /** Before it was asked for. */
  readonly since: number;
}

/** A delivery that nobody had received when all was quiet, before anybody asked for a redelivery. */
export interface UndeliveredFacts {
  readonly id: string;
  readonly channelId: string;
  readonly isChannelEnabled: boolean;
  readonly state: string;
  /** Since the last redelivery. */
  readonly attempts: number;
  /** Until its next attempt, milliseconds; null: none is planned. */
  readonly dueInMs: number | null;
}

export interface ChannelFacts {
  readonly id: string;
  readonly secret: string;
  readonly plan: ChannelPlan;
}

export interface EventFacts {
  readonly id: string;
  readonly monitorId: string;
  readonly timestamp: number;
  readonly status: CheckStatus;
  readonly statusCode: number | null;
  readonly errorReason: ErrorReason | null;
  readonly latencyMs: number;
  readonly region: string;
  readonly source: CheckSource;
  /** Epoch milliseconds. */
  readonly slot: number | null;
  /** Set where a trigger overrode the monitor's URL. */
  readonly url: string | null;
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
  readonly timestamp: number;
  readonly payload: string;
  readonly state: string;
  readonly attemptCount: number;
  /** Attempts in the log. */
  readonly attempts: number;
  readonly createdAt: number;
}

interface IncidentFacts {
  readonly monitorId: string;
  readonly openedAt: number;
  readonly resolvedAt: number | null;
}

/** What Postgres holds when a campaign is over. */
export interface DatabaseFacts {
  readonly events: readonly EventFacts[];
  readonly statusChanges: readonly StatusChangeFacts[];
  readonly deliveries: readonly DeliveryFacts[];
  readonly incidents: readonly IncidentFacts[];
  readonly backlog: Backlog;
  readonly monitors: readonly StoredMonitor[];
  /** Keys of windows whose time passed while nobody could begin them. */
  readonly missedWindows: readonly string[];
}

/** A monitor as Postgres has it. */
interface StoredMonitor {
  readonly id: string;
  readonly name: string;
  readonly failureThreshold: number;
  readonly status: MonitorStatus;
}

/** What waits although its time has come. */
export interface Backlog {
  /** Status changes whose deliveries were not made. */
  readonly undispatched: number;
  /** Deliveries whose attempt has been due for longer than a few seconds, or has no time at all. */
  readonly overdue: number;
}

/** Everything that a campaign saw, for the oracle to judge. */
export interface CampaignRecord {
  readonly seed: number;
  readonly minutes: number;
  readonly startedAt: number;
  readonly lastFaultAt: number;
  readonly endedAt: number;
  /** Kinds of faults that had to be fired. */
  readonly kinds: readonly string[];
  readonly faults: readonly FiredFault[];
  readonly replicas: readonly Pick<SlotPlan, 'name' | 'service' | 'region' | 'address'>[];
  readonly monitors: readonly MonitorFacts[];
  readonly neighbour: readonly NeighbourFacts[];
  readonly neighbourMet: NeighbourMet;
  /** Monitors that an api said it had made, to a client that then asked for them again. */
  readonly promised: readonly { readonly id: string; readonly key: string }[];
  readonly channels: readonly ChannelFacts[];
  readonly windows: readonly WindowFacts[];
  readonly redelivered: readonly RedeliveryFacts[];
  readonly answers: readonly TargetAnswer[];
  readonly receipts: readonly Receipt[];
  /** Requests to no receiver. */
  readonly strays: readonly string[];
  /** By monitor: the ids of its events in the order in which a client that polled with `since` got them. */
  readonly tails: ReadonlyMap<string, readonly string[]>;
  /** By monitor: its status as the API showed it at the end. */
  readonly shown: ReadonlyMap<string, string>;
  /** Undelivered deliveries, and the ids of those that the API's delivery log showed. */
  readonly undelivered: { readonly stored: readonly UndeliveredFacts[]; readonly shown: readonly string[] };
  /** When all was quiet, before anybody asked for a redelivery. */
  readonly leftAlone: Backlog;
  /** What else went wrong with services, in words: an end of their own, an exit code, no readiness. */
  readonly serviceTroubles: readonly string[];
  /** Requests to the API by status; 0: no answer. */
  readonly apiStatuses: ReadonlyMap<number, number>;
  readonly database: DatabaseFacts;
}

/** Something that must never happen, and did. */
export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}
