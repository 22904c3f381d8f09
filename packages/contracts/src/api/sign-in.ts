import { z } from 'zod';
import type { Operation, Operations } from './operation.ts';

const AUTH = '/api/auth';
const something = z.looseObject({});
const shared = {
  tag: 'Signing in',
  needs: 'anyone',
  ok: 200,
  answer: something,
} satisfies Partial<Operation>;

/** Routes whose answers and errors are better-auth's: what is known of them is what the dashboard uses. */
export const SIGN_IN_OPERATIONS: Operations = {
  [`POST ${AUTH}/sign-in/email`]: {
    ...shared,
    id: 'signIn',
    summary: 'Sign in by password',
    description: 'Sets the cookie of the session. Three tries in ten seconds from one address, then 429.',
    answerHeaders: ['Set-Cookie'],
    body: z.object({ email: z.email(), password: z.string() }),
  },
  [`POST ${AUTH}/sign-out`]: {
    ...shared,
    id: 'signOut',
    summary: 'Sign out',
    description: 'Ends the session.',
    body: z.object({}),
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
    body: z.object({
      currentPassword: z.string(),
      newPassword: z.string(),
      revokeOtherSessions: z.boolean().optional(),
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
    body: z.object({ token: z.string().describe('Of the list.') }),
  },
  [`POST ${AUTH}/revoke-other-sessions`]: {
    ...shared,
    id: 'revokeOtherSessions',
    summary: 'End all own sessions but this one',
    body: z.object({}),
  },
};

/** The same, there only where single sign-on is set up. */
export const SINGLE_SIGN_ON_OPERATIONS: Operations = {
  [`POST ${AUTH}/sign-in/social`]: {
    ...shared,
    id: 'beginSingleSignOn',
    summary: 'Begin single sign-on',
    description: 'Answers where to send the browser. Only where single sign-on is set up.',
    body: z.object({ provider: z.literal('oidc'), callbackURL: z.string() }),
  },
  [`GET ${AUTH}/callback/:provider`]: {
    id: 'finishSingleSignOn',
    tag: 'Signing in',
    summary: 'Come back from single sign-on',
    description:
      'Where the provider sends the browser. It goes on where it wanted to, signed in, or to the page that says why not. Only where single sign-on is set up.',
    needs: 'anyone',
    ok: 302,
    answer: null,
    answerHeaders: ['Location', 'Set-Cookie'],
  },
};
