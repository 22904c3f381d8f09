import { z } from 'zod';
import { storableText } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { emailSchema, newPasswordSchema } from '../people/user.ts';
import { defineRoutes, noFields } from '../routes/route.ts';

const { max } = LIMITS.passwordCharacters;
const password = storableText.max(max, { error: `must be at most ${max} characters` });

/** A session as better-auth returns it, with the fields that the dashboard uses. */
const sessionSchema = z.looseObject({
  id: z.string(),
  token: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
  ipAddress: z.string().nullish(),
  userAgent: z.string().nullish(),
});

/** The user of a session, likewise. */
const sessionUserSchema = z.looseObject({ id: z.string(), name: z.string(), email: z.string() });

const common = { tag: 'Signing in', access: 'anyone' } as const;
const signIn = { ...common, query: noFields, response: z.looseObject({}) } as const;

/** Routes that better-auth handles. It receives only validated fields. Responses declare only the fields that the dashboard uses. */
export const signInRoutes = defineRoutes(signIn, {
  signIn: {
    endpoint: 'POST /api/auth/sign-in/email',
    summary: 'Sign in with a password',
    description:
      'Sets the session cookie. An IP address may make three attempts in ten seconds. After ten failed attempts for a user, existing or not, further attempts take turns, five seconds apart; the `Retry-After` of a 429 says when to retry. A browser that has signed in as the user before is not delayed by the attempts of others.',
    body: z.strictObject({ email: emailSchema, password }),
    responseHeaders: ['Set-Cookie'],
  },
  signOut: {
    endpoint: 'POST /api/auth/sign-out',
    summary: 'Sign out',
    description: 'Ends the session.',
    body: noFields,
  },
  getSession: {
    endpoint: 'GET /api/auth/get-session',
    summary: 'Get the session',
    description: 'The session and its user, or null.',
    response: z.looseObject({ session: sessionSchema, user: sessionUserSchema }).nullable(),
  },
  changePassword: {
    endpoint: 'POST /api/auth/change-password',
    summary: 'Change your password',
    description: 'Ends every other session of the user.',
    body: z.strictObject({
      currentPassword: password,
      newPassword: newPasswordSchema,
      revokeOtherSessions: z.boolean().optional().describe('Has no effect: other sessions always end.'),
    }),
  },
  listSessions: {
    endpoint: 'GET /api/auth/list-sessions',
    summary: 'List your sessions',
    response: z.array(sessionSchema),
  },
  revokeSession: {
    endpoint: 'POST /api/auth/revoke-session',
    summary: 'End one of your sessions',
    body: z.strictObject({ token: storableText.describe('From the list of sessions.') }),
  },
  revokeOtherSessions: {
    endpoint: 'POST /api/auth/revoke-other-sessions',
    summary: 'End all your other sessions',
    body: noFields,
  },
});

/** Served only if single sign-on is configured. */
export const singleSignOnRoutes = defineRoutes(common, {
  beginSingleSignOn: {
    endpoint: 'POST /api/auth/sign-in/social',
    query: noFields,
    summary: 'Begin single sign-on',
    description: 'Returns the URL to send the browser to. Available only if single sign-on is configured.',
    body: z.strictObject({
      provider: z.literal('oidc', { error: 'must be oidc' }),
      callbackURL: storableText.describe('Where to send the browser once it is signed in.'),
    }),
    response: z.looseObject({ url: z.string() }),
  },
  finishSingleSignOn: {
    endpoint: 'GET /api/auth/callback/oidc',
    summary: 'Finish single sign-on',
    description:
      'The provider redirects the browser here. The response starts a session and redirects to the `callbackURL`, or to a page that explains the error. Available only if single sign-on is configured.',
    // Providers add their own parameters, which are ignored.
    query: z.object({
      state: z.string().optional(),
      code: z.string().optional(),
      iss: z.string().optional(),
      error: z.string().optional(),
      error_description: z.string().optional(),
    }),
    status: 302,
    responseHeaders: ['Location', 'Set-Cookie'],
  },
});
