import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Request, RequestHandler } from 'express';
import { callerOf } from './request-state.ts';

/** A body, its text and its parsed values take some hundred MB together. The chart limits the process to 768. */
const MAX_AT_ONCE = 2;
/** As long as a large set takes. Nothing of a waiting body is in memory. */
const WAIT_MS = 10_000;

/**
 * Admits few requests with large bodies at a time, one for each account, until their responses end. Others wait, then get 503. It follows
 * the authentication and precedes the reading of the body.
 */
export function boundLargeBodies(waitMs: number = WAIT_MS): RequestHandler {
  const semaphore = new OwnerSemaphore(MAX_AT_ONCE);
  return async function admit(req, res, next) {
    if (!mayBeLarge(req)) {
      next();
      return;
    }
    const { accountId } = callerOf(res);
    if (!(await semaphore.acquire(accountId, waitMs))) {
      throw new AppError('unavailable', 'Other large sets are being applied. Try again soon.', {
        headers: { 'Retry-After': '5' },
      });
    }
    const release = (): void => {
      res.off('close', release);
      req.socket.off('close', release);
      semaphore.release(accountId);
    };
    if (req.socket.destroyed) {
      semaphore.release(accountId);
      return;
    }
    res.once('close', release);
    // A response that waits behind another one gets no event when its connection closes.
    req.socket.once('close', release);
    next();
  };
}

function mayBeLarge(req: Request): boolean {
  const length = req.get('content-length');
  if (length === undefined) return req.get('transfer-encoding') !== undefined;
  return Number(length) > LIMITS.apiBodyBytes || req.get('content-encoding') !== undefined;
}

interface Waiter {
  readonly owner: string;
  readonly admit: () => void;
}

/** A semaphore with at most one permit for each owner. */
class OwnerSemaphore {
  readonly #max: number;
  readonly #owners = new Set<string>();
  readonly #waiting: Waiter[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Waiters get permits in order. @returns false if none became free in time */
  async acquire(owner: string, withinMs: number): Promise<boolean> {
    if (this.#isFreeFor(owner)) {
      this.#owners.add(owner);
      return true;
    }
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        resolve(false);
      }, withinMs);
      const waiter: Waiter = {
        owner,
        admit: () => {
          clearTimeout(late);
          resolve(true);
        },
      };
      this.#waiting.push(waiter);
    });
  }

  release(owner: string): void {
    this.#owners.delete(owner);
    const next = this.#waiting.findIndex((waiter) => this.#isFreeFor(waiter.owner));
    const [waiter] = next === -1 ? [] : this.#waiting.splice(next, 1);
    if (waiter === undefined) return;
    this.#owners.add(waiter.owner);
    waiter.admit();
  }

  #isFreeFor(owner: string): boolean {
    return this.#owners.size < this.#max && !this.#owners.has(owner);
  }
}
