import { AppError } from '@tocsin/contracts/errors';
import { USER_ROLES } from '@tocsin/contracts/vocabulary';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { ping } from '@tocsin/db/database/open';
import { hashPassword } from 'better-auth/crypto';
import { betterAuth } from 'better-auth/minimal';
import type { Request } from 'express';
import { z } from 'zod';
import { authOptions } from './auth-options.ts';
import type { AuthSettings } from './auth-options.ts';
import { authHeaders, authRequest } from './auth-request.ts';
import type { AuthAsk } from './auth-request.ts';
import { KnownDevices } from './known-devices.ts';
import { SignInLimit } from './sign-in-limit.ts';
import type { AttemptOutcome } from './sign-in-limit.ts';
import { createSingleSignOn } from './single-sign-on.ts';
import type { OidcSettings } from './single-sign-on.ts';

export interface IdentityOptions extends AuthSettings {
  /** Null: people sign in by password only. */
  readonly oidc: OidcSettings | null;
  /** See `SignInLimitOptions`. */
  readonly now?: () => number;
}

/** A user as a request acts for one. */
interface SignedIn {
  readonly sessionId: string;
  readonly userId: string;
  readonly accountId: string;
  readonly role: UserRole;
  /** `Set-Cookie` values that keep the session alive, often none. */
  readonly cookies: readonly string[];
}

const MOST_LOOKS = 3;
const PASSWORD_PATH = '/api/auth/sign-in/email';

/** Who people are: the sessions of the dashboard. better-auth does the work and stays behind this. */
export interface Identity {
  /** Answers what is asked under `/api/auth`. @throws AppError rate_limited; Error in place of any 5xx */
  answer(ask: AuthAsk): Promise<globalThis.Response>;
  /** The same for what single sign-on needs. */
  answerSingleSignOn(ask: AuthAsk): Promise<globalThis.Response>;
  readonly hasSingleSignOn: boolean;
  /** Whom the cookie of a request signs in, asked of Postgres each time; null: nobody. */
  find(req: Request): Promise<SignedIn | null>;
  /** Whether it still does, for an answer that is under way: the session is not prolonged, as no cookie could say so. */
  isSignedIn(req: Request): Promise<boolean>;
  /** Starts a session. @returns its `Set-Cookie` values */
  signIn(req: Request, email: string, password: string): Promise<readonly string[]>;
  hashPassword(password: string): Promise<string>;
}

export function createIdentity(options: IdentityOptions): Identity {
  const auth = betterAuth(authOptions(options));
  const singleSignOn = options.oidc === null ? null : createSingleSignOn(options, options.oidc);
  /**
   * better-auth keeps the cause of an error to itself: where Postgres is away this throws that. Where it answers again, a connection
   * of ours broke, as others may have, and the session is looked up anew.
   */
  const orOutage = async <Found>(look: () => Promise<Found>): Promise<Found> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await look();
      } catch (error) {
        await ping(options.db);
        if (tries === MOST_LOOKS) throw error;
      }
    }
  };
  const devices = new KnownDevices(options);
  const limit = options.limitSignIn ? new SignInLimit(options) : null;
  const answerWith = async (handle: typeof auth.handler, ask: AuthAsk): Promise<globalThis.Response> => {
    const answer = await handle(authRequest(ask, options.publicUrl));
    if (answer.status === 429) {
      throw tooManyAttempts('from this address', answer.headers.get('x-retry-after') ?? '10');
    }
    if (answer.status < 500) return answer;
    await ping(options.db);
    throw new Error(`better-auth answered ${answer.status}`);
  };
  const answerPassword = async (ask: AuthAsk): Promise<globalThis.Response> => {
    const email = String(ask.fields['email']);
    const address = ask.req.ip ?? '';
    const device = await devices.find(ask.req, email);
    const attempt = limit?.begin({ email, address, device });
    if (typeof attempt === 'number') throw tooManyAttempts('to sign in as this user', String(attempt));
    let outcome: AttemptOutcome = 'undecided';
    try {
      // Made before the password is checked: one that changes meanwhile makes the cookie invalid.
      const cookie = await devices.cookieFor(email, device);
      const answer = await answerWith(auth.handler, ask);
      outcome = OUTCOMES[answer.status] ?? 'undecided';
      if (outcome === 'succeeded') answer.headers.append('set-cookie', cookie);
      return answer;
    } finally {
      attempt?.end(outcome);
    }
  };
  return {
    answer: (ask) => (ask.path === PASSWORD_PATH ? answerPassword(ask) : answerWith(auth.handler, ask)),
    answerSingleSignOn: (ask) => answerWith(singleSignOn ?? auth.handler, ask),
    hasSingleSignOn: singleSignOn !== null,
    find: async (req) => {
      const asked = { headers: authHeaders(req), returnHeaders: true } as const;
      const found = await orOutage(() => auth.api.getSession(asked));
      if (found.response === null) return null;
      const { session, user } = found.response;
      const { id: userId, accountId, role } = userFields.parse(user);
      return {
        sessionId: session.id,
        userId,
        accountId,
        role,
        cookies: found.headers.getSetCookie(),
      };
    },
    isSignedIn: async (req) => {
      const asked = { headers: authHeaders(req), query: { disableRefresh: true } };
      return (await orOutage(() => auth.api.getSession(asked))) !== null;
    },
    signIn: async (req, email, password) => {
      const cookie = await devices.cookieFor(email, null);
      const { headers } = await auth.api.signInEmail({
        headers: authHeaders(req),
        body: { email, password },
        returnHeaders: true,
      });
      return [...headers.getSetCookie(), cookie];
    },
    hashPassword,
  };
}

/** By the status that better-auth answers to a password. */
const OUTCOMES: Readonly<Record<number, AttemptOutcome>> = { 200: 'succeeded', 401: 'failed' };

function tooManyAttempts(what: string, retryAfter: string): AppError {
  return new AppError('rate_limited', `Too many attempts ${what}. Try again in ${retryAfter} s.`, {
    headers: { 'Retry-After': retryAfter },
  });
}

/** better-auth does not know our columns by type. */
const userFields = z.object({ id: z.string(), accountId: z.string(), role: z.enum(USER_ROLES) });
