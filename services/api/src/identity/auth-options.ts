import { hkdfSync } from 'node:crypto';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Database } from '@tocsin/db/database/open';
import { recordPasswordChange, recordSignIn } from '@tocsin/db/users/sign-ins';
import { sessions, userLogins, users, verifications } from '@tocsin/db/users/table';
import type { Logger } from '@tocsin/runtime/logger';
import { drizzleAdapter } from 'better-auth/adapters/drizzle';
import { createAuthMiddleware } from 'better-auth/api';
import type { BetterAuthOptions } from 'better-auth/minimal';
import { trustedOrigins } from '../access/origins.ts';
import { CLIENT_IP_HEADER, REQUEST_ID_HEADER } from './auth-request.ts';

/** Derives the secret of session cookies from the first key of `SECRETS_KEY`. Rotating that key signs everyone out. */
export function authSecret(secretsKeys: readonly Buffer[]): string {
  const [current] = secretsKeys;
  if (current === undefined) throw new RangeError('there is no key to derive from');
  return Buffer.from(hkdfSync('sha256', current, '', 'tocsin session cookies v1', 32)).toString('base64');
}

/** Paths of better-auth, without its base. */
const PATHS = {
  signIn: '/sign-in/email',
  beginSingleSignOn: '/sign-in/social',
  changePassword: '/change-password',
} as const;
/** Beginning single sign-on checks no password, and an office may share one address. In seconds. */
const SINGLE_SIGN_ON_LIMIT = { window: 10, max: 100 };

const DAY_SECONDS = 24 * 60 * 60;
export interface AuthSettings {
  readonly db: Database;
  readonly secret: string;
  /** The address that users see, without a trailing slash. */
  readonly publicUrl: string;
  /** Off in tests that sign in often. */
  readonly limitSignIn: boolean;
  readonly logger: Logger;
}

/** The configuration of better-auth (docs/adr/0006-sessions.md). */
export function authOptions(settings: AuthSettings): BetterAuthOptions {
  const { db, publicUrl } = settings;
  const { origin } = new URL(publicUrl);
  return {
    appName: 'Tocsin',
    baseURL: origin,
    basePath: '/api/auth',
    secret: settings.secret,
    trustedOrigins: [...trustedOrigins(publicUrl)],
    telemetry: { enabled: false },
    database: drizzleAdapter(db, {
      provider: 'pg',
      schema: { user: users, session: sessions, account: userLogins, verification: verifications },
      transaction: true,
    }),
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: LIMITS.passwordCharacters.min,
      maxPasswordLength: LIMITS.passwordCharacters.max,
    },
    // Without a cache in the cookie, signing out and removal take effect with the next request.
    session: { expiresIn: 7 * DAY_SECONDS, updateAge: DAY_SECONDS, cookieCache: { enabled: false } },
    account: {
      fields: { accountId: 'subject', password: 'passwordHash' },
    },
    databaseHooks: databaseHooks(db),
    // Counted per process. A few more attempts on several processes do no harm.
    rateLimit: {
      enabled: settings.limitSignIn,
      storage: 'memory',
      customRules: { [PATHS.beginSingleSignOn]: SINGLE_SIGN_ON_LIMIT },
    },
    advanced: {
      cookiePrefix: 'tocsin',
      useSecureCookies: publicUrl.startsWith('https:'),
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax' },
      // Explicit, because better-auth disables the second one in tests.
      disableCSRFCheck: false,
      disableOriginCheck: false,
      database: { generateId: false },
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
    },
    hooks: { before: endOtherSessions },
    // Errors are thrown, because better-auth would print an unexpected error with the parameters of its query.
    onAPIError: { errorURL: `${publicUrl}/sign-in`, throw: true },
    logger: { log: logTo(settings.logger) },
  };
}

/** Someone else may know the old password, so other sessions always end. */
const endOtherSessions = createAuthMiddleware(async (context) => {
  if (context.path !== PATHS.changePassword) return;
  const body = context.body as Record<string, unknown>;
  return { context: { ...context, body: { ...body, revokeOtherSessions: true } } };
});

type DatabaseHooks = NonNullable<BetterAuthOptions['databaseHooks']>;
type HookContext = Parameters<
  NonNullable<NonNullable<NonNullable<DatabaseHooks['session']>['create']>['after']>
>[1];

function requestIdOf(context: HookContext): string | null {
  return context?.headers?.get(REQUEST_ID_HEADER) ?? null;
}

/** If recording fails, the request fails, and its user gets no cookie. */
function databaseHooks(db: Database): DatabaseHooks {
  return {
    account: {
      create: { before: dropTokens },
      update: {
        before: dropTokens,
        after: async ({ userId }, context) => {
          if (context?.path === PATHS.changePassword)
            await recordPasswordChange(db, userId, requestIdOf(context));
        },
      },
    },
    session: {
      create: {
        // better-auth shortens IPv6 addresses to their network.
        before: async (session, context) => ({
          data: { ...session, ipAddress: context?.headers?.get(CLIENT_IP_HEADER) ?? session.ipAddress },
        }),
        after: async (session, context) => {
          // A changed password only replaces the session.
          if (context?.path === PATHS.changePassword) return;
          const method = context?.path === PATHS.signIn ? 'password' : 'singleSignOn';
          await recordSignIn(db, session, method, requestIdOf(context));
        },
      },
    },
  };
}

/** A provider's tokens serve only to identify the user, so they are not stored. */
async function dropTokens(login: Record<string, unknown>): Promise<{ data: Record<string, unknown> }> {
  return { data: { ...login, accessToken: null, refreshToken: null, idToken: null } };
}

/** better-auth reports a wrong password as an error. */
function logTo(logger: Logger): (level: string, message: string, ...details: unknown[]) => void {
  return (level, message, ...details) => {
    const error = details.find((detail) => detail instanceof Error);
    logger.log(error === undefined ? 'debug' : 'warn', 'better-auth', {
      reason: message,
      severity: level,
      error,
    });
  };
}
