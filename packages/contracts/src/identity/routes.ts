import { z } from 'zod';
import { storableText } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { emailSchema, newPasswordSchema } from '../people/user.ts';
import { nothing } from '../routes/route.ts';
import type { Operation, Operations } from '../routes/route.ts';

const AUTH = '/api/auth';
const { max } = LIMITS.passwordCharacters;
const something = z.looseObject({});
const password = storableText.max(max, { error: `must be at most ${max} characters` });
const shared = {
  tag: 'Signing in',
  needs: 'anyone',
  ok: 200,
  answer: something,
} satisfies Partial<Operation>;

/**
 * Routes that better-auth answers. What they take is validated first, and nothing else of a request reaches better-auth; of their answers
 * and errors is known what the dashboard uses.
 */
export const SIGN_IN_OPERATIONS: Operations = {
  [`POST ${AUTH}/sign-in/email`]: {
    ...shared,
    id: 'signIn',
    summary: 'Sign in by password',
    description:
      'Sets the cookie of the session. Three attempts in ten seconds from one address, then 429. After ten failed attempts on one user, further ones take turns, five seconds apart, whether the user exists or not: a 429 says in `Retry-After` when the turn of this network comes. A browser that has signed in as the user before is not delayed by attempts of others.',
    answerHeaders: ['Set-Cookie'],
    body: z.strictObject({ email: emailSchema, password }),
  },
  [`POST ${AUTH}/sign-out`]: {
    ...shared,
    id: 'signOut',
    summary: 'Sign out',
    description: 'Ends the session.',
    body: nothing,
  },
  [`GET ${AUTH}/get-session`]: {
    ...shared,
    id: 'getSession',
    summary: 'Get the session',
    description: 'The session and its user, or null.',
    answer: something.nullable(),
  },
  [`POST ${AUTH}/change-password`]: {
    ...shared,
    id: 'changePassword',
    summary: 'Change the own password',
    description: 'Every other session of the user ends.',
    body: z.strictObject({
      currentPassword: password,
      newPassword: newPasswordSchema,
      revokeOtherSessions: z.boolean().optional().describe('Without effect: they always end.'),
    }),
  },
  [`GET ${AUTH}/list-sessions`]: {
    ...shared,
    id: 'listSessions',
    summary: 'List own sessions',
    answer: z.array(something),
  },
  [`POST ${AUTH}/revoke-session`]: {
    ...shared,
    id: 'revokeSession',
    summary: 'End one of the own sessions',
    body: z.strictObject({ token: storableText.describe('Of the list.') }),
  },
  [`POST ${AUTH}/revoke-other-sessions`]: {
    ...shared,
    id: 'revokeOtherSessions',
    summary: 'End all own sessions but this one',
    body: nothing,
  },
};

/** The same, there only where single sign-on is set up. */
export const SINGLE_SIGN_ON_OPERATIONS: Operations = {
  [`POST ${AUTH}/sign-in/social`]: {
    ...shared,
    id: 'beginSingleSignOn',
    summary: 'Begin single sign-on',
    description: 'Answers where to send the browser. Only where single sign-on is set up.',
    body: z.strictObject({
      provider: z.literal('oidc', { error: 'must be oidc' }),
      callbackURL: storableText.describe('Where to send the browser once it is signed in.'),
    }),
  },
  [`GET ${AUTH}/callback/oidc`]: {
    id: 'finishSingleSignOn',
    tag: 'Signing in',
    summary: 'Come back from single sign-on',
    description:
      'Where the provider sends the browser. It goes on where it wanted to, signed in, or to the page that says why not. Only where single sign-on is set up.',
    needs: 'anyone',
    // Providers add parameters of their own, which are ignored.
    query: z.object({
      state: z.string().optional(),
      code: z.string().optional(),
      iss: z.string().optional(),
      error: z.string().optional(),
      error_description: z.string().optional(),
    }),
    ok: 302,
    answer: null,
    answerHeaders: ['Location', 'Set-Cookie'],
  },
};
