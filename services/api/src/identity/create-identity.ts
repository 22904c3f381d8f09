import { USER_ROLES } from '@tocsin/contracts/vocabulary';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { ping } from '@tocsin/db/database/ping';
import { hashPassword } from 'better-auth/crypto';
import { betterAuth } from 'better-auth/minimal';
import type { Request } from 'express';
import { z } from 'zod';
import { authOptions } from './auth-options.ts';
import type { AuthSettings } from './auth-options.ts';
import { authHeaders } from './auth-request.ts';
import { createSingleSignOn } from './single-sign-on.ts';
import type { OidcSettings } from './single-sign-on.ts';

export interface IdentityOptions extends AuthSettings {
  /** Null: people sign in by password only. */
  readonly oidc: OidcSettings | null;
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

/** Who people are: the sessions of the dashboard. better-auth does the work and stays behind this. */
export interface Identity {
  /** Answers a request of `/api/auth`, see `authRequest`. @throws Error in place of any 5xx */
  answer(request: globalThis.Request): Promise<globalThis.Response>;
  /** The same for what single sign-on needs. */
  answerSingleSignOn(request: globalThis.Request): Promise<globalThis.Response>;
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
  const answerWith =
    (handle: typeof auth.handler) =>
    async (request: globalThis.Request): Promise<globalThis.Response> => {
      const answer = await handle(request);
      if (answer.status < 500) return answer;
      await ping(options.db);
      throw new Error(`better-auth answered ${answer.status}`);
    };
  return {
    answer: answerWith(auth.handler),
    answerSingleSignOn: answerWith(singleSignOn ?? auth.handler),
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
      const { headers } = await auth.api.signInEmail({
        headers: authHeaders(req),
        body: { email, password },
        returnHeaders: true,
      });
      return headers.getSetCookie();
    },
    hashPassword,
  };
}

/** better-auth does not know our columns by type. */
const userFields = z.object({ id: z.string(), accountId: z.string(), role: z.enum(USER_ROLES) });
