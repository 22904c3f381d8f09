import { AppError } from '@tocsin/contracts/errors';
import { unavailable } from '../http/errors.ts';
import type { Caller } from '../http/request-state.ts';

/** Limits of concurrent triggered checks in one api process, per API key or session, per account, and in total. */
const TRIGGER_LIMITS = { caller: 25, account: 100, process: 1_000 } as const;
type Limits = Readonly<Record<keyof typeof TRIGGER_LIMITS, number>>;
const RETRY_AFTER_SECONDS = '5';

interface RunningCheck {
  /** The id of the API key or session. */
  readonly callerId: string;
  readonly accountId: string;
  /** By `performance.now()`. */
  readonly endsAt: number;
}

/** Counts the triggered checks in progress, whether or not their clients still wait. */
export class TriggerLimits {
  readonly #limits: Limits;
  readonly #running = new Set<RunningCheck>();

  constructor(limits: Limits = TRIGGER_LIMITS) {
    this.#limits = limits;
  }

  /**
   * @param maxDurationMs after this, the check no longer counts
   * @returns a function that releases the check
   * @throws AppError rate_limited, unavailable
   */
  acquire({ apiKeyId, sessionId, accountId }: Caller, maxDurationMs: number): () => void {
    const { caller: perCaller, account: perAccount, process: inAll } = this.#limits;
    const now = performance.now();
    for (const check of this.#running) if (check.endsAt <= now) this.#running.delete(check);
    const callerId = apiKeyId ?? sessionId;
    const ofAccount = [...this.#running].filter((check) => check.accountId === accountId);
    if (ofAccount.filter((check) => check.callerId === callerId).length >= perCaller)
      throw limited(`This ${apiKeyId === null ? 'session' : 'API key'} runs ${perCaller}`);
    if (ofAccount.length >= perAccount) throw limited(`This account runs ${perAccount}`);
    if (this.#running.size >= inAll)
      throw unavailable(`This server runs ${inAll} triggered checks already. Try again later.`);
    const check = { callerId, accountId, endsAt: now + maxDurationMs };
    this.#running.add(check);
    return () => void this.#running.delete(check);
  }
}

function limited(reason: string): AppError {
  const detail = `${reason} triggered checks already. Try again when one of them has ended.`;
  return new AppError('rate_limited', detail, { headers: { 'Retry-After': RETRY_AFTER_SECONDS } });
}
