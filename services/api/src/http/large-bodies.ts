import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Request, RequestHandler } from 'express';
import { callerOf } from './request-state.ts';

interface Waiter {
  readonly owner: string;
  readonly admit: () => void;
}

/** Places that only so many have at a time, and each owner one. */
class Places {
  readonly #most: number;
  readonly #owners = new Set<string>();
  readonly #waiting: Waiter[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Those who wait are admitted in their order. @returns false where none got free in time */
  async take(owner: string, withinMs: number): Promise<boolean> {
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

  /** Once for each time that a place was taken. */
  giveBack(owner: string): void {
    this.#owners.delete(owner);
    const next = this.#waiting.findIndex((waiter) => this.#isFreeFor(waiter.owner));
    const [waiter] = next === -1 ? [] : this.#waiting.splice(next, 1);
    if (waiter === undefined) return;
    this.#owners.add(waiter.owner);
    waiter.admit();
  }

  #isFreeFor(owner: string): boolean {
    return this.#owners.size < this.#most && !this.#owners.has(owner);
  }
}

/** A body, its text and what it holds are some hundred MB together, in a process that may have 768 (the chart's limit). */
const MOST_AT_ONCE = 2;
/** As long as a large set takes; nothing of a body is in memory meanwhile. */
const WAIT_MS = 10_000;

/**
 * Lets few requests with bodies above the ordinary bound pass at a time, one of each account, until they are answered. Others wait a
 * while, and are then told to come again. Stands behind the authentication, before the body is read.
 */
export function boundLargeBodies(waitMs: number = WAIT_MS): RequestHandler {
  const places = new Places(MOST_AT_ONCE);
  return async function admit(req, res, next) {
    if (!mayBeLarge(req)) {
      next();
      return;
    }
    const { accountId } = callerOf(res);
    if (!(await places.take(accountId, waitMs))) {
      throw new AppError('unavailable', 'Other large sets are being applied. Try again soon.', {
        headers: { 'Retry-After': '5' },
      });
    }
    const leave = (): void => {
      res.off('close', leave);
      req.socket.off('close', leave);
      places.giveBack(accountId);
    };
    if (req.socket.destroyed) {
      places.giveBack(accountId);
      return;
    }
    res.once('close', leave);
    // What waits behind another answer of its connection is not told that this has closed.
    req.socket.once('close', leave);
    next();
  };
}

function mayBeLarge(req: Request): boolean {
  const length = req.get('content-length');
  if (length === undefined) return req.get('transfer-encoding') !== undefined;
  return Number(length) > LIMITS.apiBodyBytes || req.get('content-encoding') !== undefined;
}
