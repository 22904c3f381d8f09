import { USER_ROLES } from '@tocsin/contracts/vocabulary';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { ping } from '@tocsin/db/database/ping';
import { hashPassword } from 'better-auth/crypto';
import { betterAuth } from 'better-auth/minimal';
import { fromNodeHeaders, toNodeHandler } from 'better-auth/node';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { authOptions, CLIENT_IP_HEADER } from './auth-options.ts';
import type { AuthSettings } from './auth-options.ts';
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
  /** Answers everything under `/api/auth`. */
  handle(req: Request, res: Response): Promise<void>;
  /** The same for what single sign-on needs. */
  handleSingleSignOn(req: Request, res: Response): Promise<void>;
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
  const handle = toNodeHandler(auth);
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
  return {
    handle: (req, res) => handle(withOwnAddress(req, options.publicUrl), res),
    handleSingleSignOn: (req, res) => (singleSignOn ?? handle)(withOwnAddress(req, options.publicUrl), res),
    hasSingleSignOn: singleSignOn !== null,
    find: async (req) => {
      const asked = { headers: headersOf(req), returnHeaders: true } as const;
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
      const asked = { headers: headersOf(req), query: { disableRefresh: true } };
      return (await orOutage(() => auth.api.getSession(asked))) !== null;
    },
    signIn: async (req, email, password) => {
      const { headers } = await auth.api.signInEmail({
        headers: headersOf(req),
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

function headersOf(req: Request): Headers {
  return fromNodeHeaders(withAddress(req).headers);
}

/** better-auth takes the address of a client from a header; only Express knows which one is true. */
function withAddress(req: Request): Request {
  if (req.ip === undefined) delete req.headers[CLIENT_IP_HEADER];
  else req.headers[CLIENT_IP_HEADER] = req.ip;
  return req;
}

/** better-auth makes a URL of what a client says of our own address, which may be no address at all: it is told the true one. */
function withOwnAddress(req: Request, publicUrl: string): Request {
  const { host, protocol } = new URL(publicUrl);
  req.headers.host = host;
  req.headers['x-forwarded-proto'] = protocol.slice(0, -1);
  delete req.headers['x-forwarded-host'];
  return withAddress(req);
}
