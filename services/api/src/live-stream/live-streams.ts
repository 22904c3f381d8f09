import { FairShares, type Release } from '@tocsin/runtime/fair-shares';
import { isMember } from '@tocsin/db/users/users';
import type { Metrics } from '@tocsin/runtime/metrics';
import type { Request, Response } from 'express';
import { Gauge } from 'prom-client';
import { closedSignal } from '../http/closed-signal.ts';
import { isOutage, stopping, unavailable } from '../http/errors.ts';
import type { HeavyReads } from '../http/heavy-reads.ts';
import type { Identity } from '../identity/create-identity.ts';
import { AccountHub, type AccountHubOptions } from './account-hub.ts';
import { ClientStream } from './client-stream.ts';
import { opening } from './messages.ts';
import { readReplay, type Replay } from './replay.ts';
import { STREAM_LIMITS, type StreamLimits } from './stream-limits.ts';

/** A stream never ends on its own, so waiting longer would not free a place. */
const GRACE_MS = 1;

export interface LiveStreamsOptions extends Pick<AccountHubOptions, 'db' | 'lateRegions' | 'logger'> {
  readonly metrics: Metrics;
  readonly identity: Pick<Identity, 'isSignedIn'>;
  readonly heavyReads: Pick<HeavyReads, 'run'>;
  readonly limits?: Partial<StreamLimits>;
}

interface Client {
  readonly accountId: string;
  readonly userId: string;
  /** Epoch milliseconds, or null to begin now. */
  readonly position: number | null;
}

/** The live streams of this process, with one hub per account. */
export class LiveStreams {
  readonly #options: LiveStreamsOptions;
  readonly #limits: StreamLimits;
  readonly #hubs = new Map<string, AccountHub>();
  readonly #shares: FairShares;
  readonly #streams = new Set<ClientStream>();
  /** Session checks in progress. Streams of one session share a check. */
  readonly #checks = new Map<string, Promise<boolean | null>>();
  /** Work that may query Postgres after its stream has ended. */
  readonly #pending = new Set<Promise<unknown>>();
  #stopped = false;

  constructor(options: LiveStreamsOptions) {
    this.#options = options;
    this.#limits = { ...STREAM_LIMITS, ...options.limits };
    this.#shares = new FairShares(this.#limits.open, {
      graceMs: GRACE_MS,
      maxWaiting: this.#limits.open,
    });
    const count = (): number => this.#streams.size;
    options.metrics.registerMetric(
      new Gauge({
        name: 'tocsin_streams_open',
        help: 'Live streams that this process serves to dashboards.',
        registers: [],
        collect() {
          this.set(count());
        },
      }),
    );
  }

  /** Responds with a stream. Resolves when it has begun. @throws AppError unavailable */
  async open(req: Request, res: Response, client: Client): Promise<void> {
    const closed = closedSignal(res);
    const stream = new ClientStream(res, this.#limits.unsentBytes);
    const release = await this.#acquire(client, stream, closed);
    if (release === null) return;
    let hub: AccountHub | undefined;
    let beats: NodeJS.Timeout | undefined;
    const remove = (): void => {
      clearInterval(beats);
      release();
      if (hub !== undefined) this.#remove(client.accountId, hub, stream);
    };
    closed.addEventListener('abort', remove);
    try {
      const replay = await this.#options.heavyReads.run(client.accountId, closed, async () => {
        this.#refuseWhenStopped();
        hub = this.#join(client, stream);
        await hub.ready;
        return this.#replayFor(client, hub);
      });
      if (replay === null || hub === undefined || !stream.isOpen) return;
      this.#refuseWhenStopped();
      beats = this.#keepAlive(stream, hub, () => this.#isAllowed(req, client, closed));
      await stream.begin(replay);
    } catch (error) {
      remove();
      throw error;
    }
  }

  /** Ends every stream. Resolves after the last query. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#shares.refuseWaiting();
    for (const stream of this.#streams) stream.end();
    const hubs = [...this.#hubs.values()].map((hub) => hub.stop());
    await Promise.all([...hubs, ...this.#pending]);
  }

  #refuseWhenStopped(): void {
    if (this.#stopped) throw stopping();
  }

  /** Waits for a share of the open streams, which another account may take back. @returns null if the client has disconnected */
  async #acquire({ accountId }: Client, stream: ClientStream, signal: AbortSignal): Promise<Release | null> {
    const { open, openWithinMs } = this.#limits;
    this.#refuseWhenStopped();
    const onRevoke = (): boolean => stream.end();
    const release = await this.#shares.acquire(accountId, { withinMs: openWithinMs, signal, onRevoke });
    if (signal.aborted) {
      release?.();
      return null;
    }
    this.#refuseWhenStopped();
    if (release === null)
      throw unavailable(`All ${open} live streams of this server are in use. Try again later.`);
    return release;
  }

  #join({ accountId }: Client, stream: ClientStream): AccountHub {
    const { db, lateRegions, logger } = this.#options;
    const limits = this.#limits;
    const hub = this.#hubs.get(accountId) ?? new AccountHub({ db, accountId, lateRegions, limits, logger });
    this.#hubs.set(accountId, hub);
    hub.streams.add(stream);
    this.#streams.add(stream);
    return hub;
  }

  /** Removes a stream, and the hub with its last stream. Idempotent. */
  #remove(accountId: string, hub: AccountHub, stream: ClientStream): void {
    this.#streams.delete(stream);
    hub.streams.delete(stream);
    if (hub.streams.size > 0 || this.#hubs.get(accountId) !== hub) return;
    this.#hubs.delete(accountId);
    this.#track(hub.stop());
  }

  async #replayFor({ accountId, position }: Client, hub: AccountHub): Promise<Replay> {
    if (position === null) return { opening: opening(hub.position), messages: [], readAt: 0 };
    return readReplay(this.#options.db, accountId, position, this.#limits);
  }

  /** Sends heartbeats, so that clients and proxies keep the stream open, and ends the stream with its session or membership. */
  #keepAlive(
    stream: ClientStream,
    hub: AccountHub,
    isAllowed: () => Promise<boolean | null>,
  ): NodeJS.Timeout {
    let isChecking = false;
    return setInterval(() => {
      stream.beat(hub.position);
      if (isChecking || !stream.isOpen) return;
      isChecking = true;
      const check = this.#endWhenRemoved(stream, isAllowed);
      this.#track(check.finally(() => (isChecking = false)));
    }, this.#limits.heartbeatMs);
  }

  /** While Postgres is unavailable, sessions and memberships are assumed to last. */
  async #endWhenRemoved(stream: ClientStream, isAllowed: () => Promise<boolean | null>): Promise<void> {
    try {
      if ((await isAllowed()) === false) stream.end();
    } catch (error) {
      if (isOutage(error)) return;
      this.#options.logger.error('Could not check the session of a live stream', { error });
      stream.end();
    }
  }

  /** Null if the stream has ended. */
  #isAllowed(req: Request, { accountId, userId }: Client, closed: AbortSignal): Promise<boolean | null> {
    const { db, identity, heavyReads } = this.#options;
    const session = [accountId, userId, req.headers.cookie].join(' ');
    const read = async (): Promise<boolean> =>
      (await identity.isSignedIn(req)) && (await isMember(db, accountId, userId));
    const check = this.#checks.get(session) ?? heavyReads.run(accountId, closed, read);
    this.#checks.set(session, check);
    return check.finally(() => this.#checks.delete(session));
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }
}
