import { z } from 'zod';
import { apiKeySchema, createApiKeySchema } from '../api-keys/api-key.ts';
import { auditEntrySchema, auditLogQuerySchema } from '../audit-log/audit-log.ts';
import { invitationSchema, userSchema } from '../people/user.ts';
import { API_KEY_PATTERN, API_KEY_PREFIX } from '../limits.ts';
import { ACCOUNT, API_KEY, AUDIT_ENTRY, USER } from '../routes/examples.ts';
import { defineRoutes } from '../routes/route.ts';
import {
  accountSchema,
  createAccountSchema,
  operatorSchema,
  ownAccountSchema,
  setMemberSchema,
  updateAccountSchema,
} from './account.ts';

const common = { tag: 'Accounts', access: 'operator' } as const;
const { id, name, slug } = ACCOUNT;
const OPERATOR = { id: USER.id, name: USER.name, email: USER.email };

export const accountRoutes = defineRoutes(common, {
  listOwnAccounts: {
    endpoint: 'GET /api/dashboard/accounts',
    access: 'user',
    summary: 'List your accounts',
    description: 'The accounts of the signed-in user. Does not need `Tocsin-Account`.',
    query: z.object({
      record: z
        .uuid({ error: 'must be the id of a record' })
        .optional()
        .describe('Only the account with this monitor, incident, channel or maintenance window.'),
    }),
    response: z.strictObject({
      accounts: z.array(ownAccountSchema),
      isOperator: z.boolean().describe('Whether the user manages accounts.'),
    }),
    responseExample: { accounts: [{ id, name, slug, role: 'owner' }], isOperator: false },
  },
  listAccounts: {
    endpoint: 'GET /api/operator/accounts',
    summary: 'List accounts',
    response: z.strictObject({ accounts: z.array(accountSchema) }),
    responseExample: { accounts: [ACCOUNT] },
  },
  createAccount: {
    endpoint: 'POST /api/operator/accounts',
    summary: 'Create an account',
    body: createAccountSchema,
    bodyExample: { name: 'Shop', slug: 'shop', quotas: { monitors: 500 } },
    status: 201,
    response: z.strictObject({ account: accountSchema }),
    responseExample: { account: ACCOUNT },
    responseHeaders: ['Location'],
    errors: ['conflict'],
  },
  getAccount: {
    endpoint: 'GET /api/operator/accounts/:id',
    summary: 'Get an account',
    resource: 'account',
    response: z.strictObject({ account: accountSchema }),
    responseExample: { account: ACCOUNT },
  },
  updateAccount: {
    endpoint: 'PATCH /api/operator/accounts/:id',
    summary: 'Update an account',
    description:
      'Omitted fields keep their values. `quotas` and `groups` are replaced as a whole. If usage exceeds a lowered quota, nothing is deleted, but nothing can be added.',
    resource: 'account',
    body: updateAccountSchema,
    bodyExample: { quotas: { monitors: 1_000 } },
    response: z.strictObject({ account: accountSchema }),
    responseExample: { account: { ...ACCOUNT, quotas: { ...ACCOUNT.quotas, monitors: 1_000 } } },
    errors: ['conflict'],
  },
  deleteAccount: {
    endpoint: 'DELETE /api/operator/accounts/:id',
    summary: 'Delete an account',
    description:
      'API keys, memberships, invitations and webhooks end at once, and checks within seconds. The remaining data is deleted in the background. This cannot be undone.',
    resource: 'account',
    query: z.object({
      confirm: z.string({ error: 'must be the slug of the account' }).describe('The slug of the account.'),
    }),
  },
  createAccountKey: {
    endpoint: 'POST /api/operator/accounts/:id/api-keys',
    summary: 'Create an API key for an account',
    description: 'The key has the rights of an owner. It is returned only in this response.',
    resource: 'account',
    body: createApiKeySchema,
    bodyExample: { name: 'Terraform' },
    status: 201,
    response: z.strictObject({
      apiKey: apiKeySchema,
      key: z.string().regex(API_KEY_PATTERN).describe('The key itself.'),
    }),
    responseExample: {
      apiKey: { ...API_KEY, createdBy: null, lastUsedAt: null },
      key: `${API_KEY_PREFIX}${'0123456789abcdef'.repeat(3)}`,
    },
    showsSecret: true,
  },
  listMembers: {
    endpoint: 'GET /api/operator/accounts/:id/members',
    summary: 'List the members of an account',
    resource: 'account',
    response: z.strictObject({ members: z.array(userSchema) }),
    responseExample: { members: [USER] },
  },
  setMember: {
    endpoint: 'PUT /api/operator/accounts/:id/members',
    summary: 'Add a member or change their role',
    description:
      'Adds the user with this address, or changes their role. If no user has verified the address, returns 201 with an invitation. Its link is shown only in this response.',
    resource: 'account',
    body: setMemberSchema,
    bodyExample: { email: USER.email, role: 'owner' },
    response: z.strictObject({ member: userSchema }),
    responseExample: { member: USER },
    otherResponses: [
      {
        status: 201,
        description: 'Invited, because no user has verified this address.',
        response: z.strictObject({ invitation: invitationSchema, url: z.string().describe('The link.') }),
      },
    ],
    showsSecret: true,
    errors: ['conflict'],
  },
  removeMember: {
    endpoint: 'DELETE /api/operator/accounts/:id/members/:userId',
    summary: 'Remove a member from an account',
    description: 'The keys of the member stop working. Returns 409 for the last owner.',
    resource: 'account',
    path: z.object({ userId: z.uuid().describe('The id of the user.') }),
    errors: ['conflict'],
  },
  listOperators: {
    endpoint: 'GET /api/operator/operators',
    summary: 'List operators',
    response: z.strictObject({ operators: z.array(operatorSchema) }),
    responseExample: { operators: [OPERATOR] },
  },
  addOperator: {
    endpoint: 'PUT /api/operator/operators',
    summary: 'Make a user an operator',
    description:
      'Returns 404 if no user has the address, and 409 if it is not verified. Single sign-on or accepting an invitation sent to the address verifies it.',
    body: setMemberSchema.pick({ email: true }),
    bodyExample: { email: USER.email },
    response: z.strictObject({ operator: operatorSchema }),
    responseExample: { operator: OPERATOR },
    errors: ['not_found', 'conflict'],
  },
  removeOperator: {
    endpoint: 'DELETE /api/operator/operators/:userId',
    summary: 'Remove an operator',
    description:
      'The user can no longer manage accounts, and their open invitations are revoked, except to accounts that they own. API keys that they created for accounts keep working. A user who belongs to no account is deleted. Returns 409 for the last operator.',
    path: z.object({ userId: z.uuid().describe('The id of the user.') }),
    errors: ['conflict'],
  },
  listOperatorAuditLog: {
    endpoint: 'GET /api/operator/audit-log',
    summary: 'Read the operator audit log',
    description: 'In chronological order: the first entries after `since`, or the latest ones.',
    query: auditLogQuerySchema,
    response: z.strictObject({ entries: z.array(auditEntrySchema) }),
    responseExample: { entries: [{ ...AUDIT_ENTRY, action: 'account.updated' }] },
  },
});
