import { z } from 'zod';
import { ACCOUNT, INVITATION, USER } from '../routes/examples.ts';
import { ownAccountSchema } from '../accounts/account.ts';
import { defineRoutes } from '../routes/route.ts';
import {
  acceptInvitationSchema,
  createInvitationSchema,
  deleteUserQuerySchema,
  invitationSchema,
  meSchema,
  updateUserSchema,
  userSchema,
} from './user.ts';

const common = { tag: 'People', access: 'member' } as const;
const exampleToken = 'mZ0p4Vb2Qx8';

export const peopleRoutes = defineRoutes(common, {
  getMe: {
    endpoint: 'GET /api/dashboard/me',
    summary: 'Get the signed-in user',
    response: meSchema,
    responseExample: {
      user: USER,
      isOperator: false,
      account: { id: ACCOUNT.id, name: ACCOUNT.name, slug: ACCOUNT.slug, defaultRegion: 'default' },
    },
  },
  listUsers: {
    endpoint: 'GET /api/dashboard/users',
    access: 'owner',
    summary: 'List users',
    response: z.strictObject({ users: z.array(userSchema) }),
    responseExample: { users: [USER] },
  },
  updateUser: {
    endpoint: 'PATCH /api/dashboard/users/:id',
    access: 'owner',
    summary: 'Change the role of a user',
    description: 'Returns 409 if the user is the last owner.',
    resource: 'user',
    body: updateUserSchema,
    bodyExample: { role: 'owner' },
    response: z.strictObject({ user: userSchema }),
    responseExample: { user: USER },
    errors: ['conflict'],
  },
  deleteUser: {
    endpoint: 'DELETE /api/dashboard/users/:id',
    access: 'owner',
    summary: 'Remove a user',
    description:
      'Ends the membership and revokes the open invitations by that user. A user without another account is deleted and signed out everywhere. API keys that the user created in this account stop working, unless `revokeApiKeys` is `false`. Those of a viewer always stop working. Returns 409 if the user is the last owner.',
    resource: 'user',
    query: deleteUserQuerySchema,
    errors: ['conflict'],
  },
  listInvitations: {
    endpoint: 'GET /api/dashboard/invitations',
    access: 'owner',
    summary: 'List open invitations',
    response: z.strictObject({ invitations: z.array(invitationSchema) }),
    responseExample: { invitations: [INVITATION] },
  },
  createInvitation: {
    endpoint: 'POST /api/dashboard/invitations',
    access: 'owner',
    summary: 'Create an invitation',
    description: 'The link works once, for seven days. It is returned only in this response.',
    body: createInvitationSchema,
    bodyExample: { email: 'ada@shop.example', role: 'member' },
    status: 201,
    response: z.strictObject({
      invitation: invitationSchema,
      token: z.string().describe('The token in the link.'),
      url: z.string().describe('The link.'),
    }),
    responseExample: {
      invitation: INVITATION,
      token: exampleToken,
      url: `https://tocsin.example/invitation?token=${exampleToken}`,
    },
    errors: ['conflict'],
    showsSecret: true,
    responseHeaders: ['Location'],
  },
  deleteInvitation: {
    endpoint: 'DELETE /api/dashboard/invitations/:id',
    access: 'owner',
    summary: 'Revoke an invitation',
    description: 'The link stops working at once.',
    resource: 'invitation',
  },
  checkInvitation: {
    endpoint: 'POST /api/dashboard/invitations/check',
    summary: 'Check an invitation',
    description:
      'Whether an invitation can be accepted, and by whom. Requires only the token, and changes nothing. Returns 404 if the invitation does not exist, and 410 if it was used or has expired.',
    access: 'anyone',
    body: acceptInvitationSchema.pick({ token: true }),
    bodyExample: { token: exampleToken },
    response: z.strictObject({
      invitation: invitationSchema.pick({ email: true, expiresAt: true }).extend({
        accountName: z.string().describe('The account that the person will join.'),
        isUser: z.boolean().describe('Whether the address belongs to a user, who signs in to accept.'),
      }),
    }),
    responseExample: {
      invitation: {
        email: INVITATION.email,
        expiresAt: INVITATION.expiresAt,
        accountName: ACCOUNT.name,
        isUser: false,
      },
    },
    errors: ['not_found', 'gone'],
  },
  acceptInvitation: {
    endpoint: 'POST /api/dashboard/invitations/accept',
    summary: 'Accept an invitation',
    description:
      'Creates the user and signs in. Requires only the token. Returns 404 if the invitation does not exist, 410 if it was used or has expired, and 409 if the address belongs to a user.',
    access: 'anyone',
    body: acceptInvitationSchema,
    bodyExample: { token: exampleToken, name: 'Ada', password: 'correct horse battery' },
    status: 201,
    response: z.strictObject({ user: userSchema }),
    responseHeaders: ['Set-Cookie'],
    responseExample: { user: { ...USER, name: 'Ada', email: 'ada@shop.example', role: 'member' } },
    errors: ['not_found', 'conflict', 'gone'],
  },
  joinAccount: {
    endpoint: 'POST /api/dashboard/invitations/join',
    summary: 'Accept an invitation as a signed-in user',
    description:
      'Adds the signed-in user to the account. Does not need `Tocsin-Account`. Returns 404 if the invitation does not exist, 410 if it was used or has expired, and 409 if it is for another address or the user is a member already.',
    access: 'user',
    body: acceptInvitationSchema.pick({ token: true }),
    bodyExample: { token: exampleToken },
    response: z.strictObject({ account: ownAccountSchema }),
    responseExample: {
      account: { id: ACCOUNT.id, name: ACCOUNT.name, slug: ACCOUNT.slug, role: 'member' },
    },
    errors: ['not_found', 'conflict', 'gone'],
  },
});
