import { z } from 'zod';
import { INVITATION, USER } from '../routes/examples.ts';
import { DASHBOARD, many, one } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';
import {
  acceptInvitationSchema,
  createInvitationSchema,
  deleteUserQuerySchema,
  invitationSchema,
  meSchema,
  updateUserSchema,
  userSchema,
} from './user.ts';

const tag = 'People';
const exampleToken = 'mZ0p4Vb2Qx8';

/** Who belongs to the account (design §3 "Dashboard API"). */
export const peopleOperations: Operations = {
  [`GET ${DASHBOARD}/me`]: {
    id: 'getMe',
    tag,
    summary: 'Get who is signed in',
    needs: 'member',
    ok: 200,
    answer: meSchema,
    answerExample: {
      user: USER,
      account: { id: '019a9f00-0000-7000-8000-000000000001', name: 'Shop', defaultRegion: 'default' },
    },
  },
  [`GET ${DASHBOARD}/users`]: {
    id: 'listUsers',
    tag,
    summary: 'List users',
    needs: 'owner',
    ok: 200,
    answer: many('users', userSchema),
    answerExample: { users: [USER] },
  },
  [`PATCH ${DASHBOARD}/users/:id`]: {
    id: 'updateUser',
    tag,
    summary: 'Change the role of a user',
    description: 'The last owner stays one: 409.',
    needs: 'owner',
    kind: 'user',
    body: updateUserSchema,
    bodyExample: { role: 'owner' },
    ok: 200,
    answer: one('user', userSchema),
    answerExample: { user: USER },
    refusals: ['conflict'],
  },
  [`DELETE ${DASHBOARD}/users/:id`]: {
    id: 'deleteUser',
    tag,
    summary: 'Remove a user',
    description:
      'All sessions of the user end, and so do open invitations by that person. The API keys that the user created stop working, unless `revokeApiKeys` is `false`. The last owner stays: 409.',
    needs: 'owner',
    kind: 'user',
    query: deleteUserQuerySchema,
    ok: 204,
    answer: null,
    refusals: ['conflict'],
  },
  [`GET ${DASHBOARD}/invitations`]: {
    id: 'listInvitations',
    tag,
    summary: 'List open invitations',
    needs: 'owner',
    ok: 200,
    answer: many('invitations', invitationSchema),
    answerExample: { invitations: [INVITATION] },
  },
  [`POST ${DASHBOARD}/invitations`]: {
    id: 'createInvitation',
    tag,
    summary: 'Invite somebody',
    description: 'The link works for seven days and once. This answer is the only one that shows it.',
    needs: 'owner',
    body: createInvitationSchema,
    bodyExample: { email: 'ada@shop.example', role: 'member' },
    ok: 201,
    answer: z.strictObject({
      invitation: invitationSchema,
      token: z.string().describe('What the link carries.'),
      url: z.string().describe('The link.'),
    }),
    answerExample: {
      invitation: INVITATION,
      token: exampleToken,
      url: `https://tocsin.example/invitation?token=${exampleToken}`,
    },
    refusals: ['conflict'],
    showsSecret: true,
    answerHeaders: ['Location'],
  },
  [`DELETE ${DASHBOARD}/invitations/:id`]: {
    id: 'deleteInvitation',
    tag,
    summary: 'Take an invitation back',
    description: 'The link stops working.',
    needs: 'owner',
    kind: 'invitation',
    ok: 204,
    answer: null,
  },
  [`POST ${DASHBOARD}/invitations/accept`]: {
    id: 'acceptInvitation',
    tag,
    summary: 'Accept an invitation',
    description:
      'Needs no session: the token is the proof. Makes the user, and signs in. 404: no such invitation; 410: it was used or has expired; 409: the address is a user.',
    needs: 'anyone',
    body: acceptInvitationSchema,
    bodyExample: { token: exampleToken, name: 'Ada', password: 'correct horse battery' },
    ok: 201,
    answer: one('user', userSchema),
    answerHeaders: ['Set-Cookie'],
    answerExample: { user: { ...USER, name: 'Ada', email: 'ada@shop.example', role: 'member' } },
    refusals: ['not_found', 'conflict', 'gone'],
  },
};
