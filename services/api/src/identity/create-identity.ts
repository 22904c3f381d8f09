import { AppError } from '@tocsin/contracts/errors';
import { signInRoutes, singleSignOnRoutes } from '@tocsin/contracts/identity/routes';
import { pathOf } from '@tocsin/contracts/routes/route';
import { ping } from '@tocsin/db/database/open';
import { recordFailedSignIn } from '@tocsin/db/users/sign-ins';
import { hashPassword } from 'better-auth/crypto';
import { betterAuth } from 'better-auth/minimal';
import type { Request } from 'express';
import { authOptions, type AuthSettings } from './auth-options.ts';
import { authHeaders, type AuthRequest, buildRequest, REQUEST_ID_HEADER } from './auth-request.ts';
import type { OidcSettings } from './identify-person.ts';
import { KnownDevices } from './known-devices.ts';
import { type AttemptOutcome, SignInLimit } from './sign-in-limit.ts';
import { createSingleSignOn } from './single-sign-on.ts';

export interface IdentityOptions extends AuthSettings {
  /** Null if people sign in by password only. */
  readonly oidc: OidcSettings | null;
  readonly now?: () => number;
}

interface SignedIn {
  readonly sessionId: string;
  readonly userId: string;
  readonly name: string;
  /** `Set-Cookie` values that extend the session, often none. */
  readonly cookies: readonly string[];
}

const MAX_LOOKUPS = 3;
const PASSWORD_PATH = pathOf(signInRoutes.signIn);
const SINGLE_SIGN_ON_PATHS: ReadonlySet<string> = new Set(Object.values(singleSignOnRoutes).map(pathOf));

/** Users and sessions of the dashboard. Hides better-auth. */
export interface Identity {
  /** Handles a request under `/api/auth`. @throws AppError rate_limited. @throws Error in place of any 5xx */
  handle(request: AuthRequest): Promise<globalThis.Response>;
  readonly hasSingleSignOn: boolean;
  /** Looks up the user of the session cookie in Postgres. Null without one. */
  find(req: Request): Promise<SignedIn | null>;
  /** Returns whether a streaming request is still signed in. Does not extend the session, because a stream cannot send cookies. */
  isSignedIn(req: Request): Promise<boolean>;
  /** Starts a session. @returns its `Set-Cookie` values */
  signIn(req: Request, email: string, password: string): Promise<readonly string[]>;
  hashPassword(password: string): Promise<string>;
}

export function createIdentity(options: IdentityOptions): Identity {
  const auth = betterAuth(authOptions(options));
  const singleSignOn = options.oidc === null ? null : createSingleSignOn(options, options.oidc);
  const devices = new KnownDevices(options);
  const limit = options.limitSignIn ? new SignInLimit(options) : null;

  /** better-auth hides causes. Throws the database's error if Postgres is unreachable, and otherwise retries. */
  async function retryLookup<Found>(look: () => Promise<Found>): Promise<Found> {
    for (let lookups = 1; ; lookups += 1) {
      try {
        return await look();
      } catch (error) {
        await ping(options.db);
        if (lookups === MAX_LOOKUPS) throw error;
      }
    }
  }

  async function handleBy(handler: typeof auth.handler, request: AuthRequest): Promise<globalThis.Response> {
    const response = await handler(buildRequest(request, options.publicUrl));
    if (response.status === 429)
      throw tooManyAttempts('from this address', response.headers.get('x-retry-after') ?? '10');
    if (response.status < 500) return response;
    await ping(options.db);
    throw new Error(`better-auth responded with ${response.status}`);
  }

  async function handlePassword(request: AuthRequest): Promise<globalThis.Response> {
    const email = String(request.fields['email']);
    const address = request.req.ip ?? '';
    const device = await devices.find(request.req, email);
    const endAttempt = limit?.begin({ email, address, device });
    if (typeof endAttempt === 'number') throw tooManyAttempts('to sign in as this user', String(endAttempt));
    let outcome: AttemptOutcome = 'undecided';
    try {
      // Created before the password check, so that the cookie becomes invalid if the password changes meanwhile.
      const cookie = await devices.cookieFor(email, device);
      const response = await handleBy(auth.handler, request);
      outcome = OUTCOMES[response.status] ?? 'undecided';
      if (outcome === 'succeeded') response.headers.append('set-cookie', cookie);
      return response;
    } finally {
      endAttempt?.(outcome);
      if (outcome === 'failed') recordFailure(request.req, email);
    }
  }

  /** Does not delay the response, whose duration would reveal whether the user exists. */
  function recordFailure({ res }: Request, email: string): void {
    recordFailedSignIn(options.db, email, res?.get(REQUEST_ID_HEADER) ?? null).catch((error: unknown) => {
      options.logger.error('Could not record a failed sign-in', { error });
    });
  }

  return {
    handle: (request) => {
      if (request.path === PASSWORD_PATH) return handlePassword(request);
      const isSingleSignOn = singleSignOn !== null && SINGLE_SIGN_ON_PATHS.has(request.path);
      return handleBy(isSingleSignOn ? singleSignOn : auth.handler, request);
    },
    hasSingleSignOn: singleSignOn !== null,
    find: async (req) => {
      const headers = authHeaders(req);
      const found = await retryLookup(() => auth.api.getSession({ headers, returnHeaders: true }));
      if (found.response === null) return null;
      const { session, user } = found.response;
      const { id: userId, name } = user;
      return { sessionId: session.id, userId, name, cookies: found.headers.getSetCookie() };
    },
    isSignedIn: async (req) => {
      const lookup = { headers: authHeaders(req), query: { disableRefresh: true } };
      return (await retryLookup(() => auth.api.getSession(lookup))) !== null;
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

/** By the status of better-auth's response to a password. */
const OUTCOMES: Readonly<Record<number, AttemptOutcome>> = { 200: 'succeeded', 401: 'failed' };

function tooManyAttempts(what: string, retryAfter: string): AppError {
  return new AppError('rate_limited', `Too many attempts ${what}. Try again in ${retryAfter} s.`, {
    headers: { 'Retry-After': retryAfter },
  });
}
