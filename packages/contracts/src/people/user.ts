import { z } from 'zod';
import { component, label, oneOf, storableText, timestamp } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { USER_ROLES } from '../vocabulary.ts';

/** An email address, in lower case. */
export const emailSchema = storableText
  .overwrite((text) => text.trim().toLowerCase())
  .max(LIMITS.emailCharacters, { error: `must be at most ${LIMITS.emailCharacters} characters` })
  .refine((text) => z.email().safeParse(text).success, { error: 'must be an email address' })
  .meta({ format: 'email' });

const { min, max } = LIMITS.passwordCharacters;
export const newPasswordSchema = storableText
  .min(min, { error: `must be at least ${min} characters` })
  .max(max, { error: `must be at most ${max} characters` });

const ROLES =
  'Owners also manage people and channel secrets. Viewers have read-only access, without header values, request bodies, kept responses, secrets and the paths of channel URLs.';

export const updateUserSchema = z.strictObject({ role: oneOf(USER_ROLES) }).meta({ id: 'UserUpdate' });

export const deleteUserQuerySchema = z.strictObject({
  revokeApiKeys: oneOf(['true', 'false'])
    .default('true')
    .describe('Whether to delete the API keys that the user created.'),
});

export const createInvitationSchema = component('InvitationCreate', {
  email: emailSchema
    .nullish()
    .describe('The invited address. Without it, the recipient of the link chooses one.'),
  role: oneOf(USER_ROLES).describe(ROLES),
});

export const acceptInvitationSchema = component('InvitationAcceptance', {
  token: storableText.describe('From the link.'),
  name: label(LIMITS.nameCharacters).describe('The name of the new user.'),
  email: emailSchema.nullish().describe('Used only if the invitation has no address.'),
  password: newPasswordSchema,
});

export const userSchema = component('User', 'A user of the dashboard.', {
  id: z.uuid(),
  name: z.string(),
  email: z.string(),
  role: z.enum(USER_ROLES).describe(ROLES),
  fromGroup: z
    .boolean()
    .describe(
      'Whether the role comes from a group of the identity provider, which may change it at each sign-in.',
    ),
  createdAt: timestamp.describe('When the user joined the account.'),
});
export type User = z.infer<typeof userSchema>;

export const invitationSchema = component('Invitation', 'An open invitation, without its token.', {
  id: z.uuid(),
  role: z.enum(USER_ROLES).describe('Role of the person who accepts it.'),
  email: z.string().nullable().describe('Null: the recipient of the link chooses an address.'),
  expiresAt: timestamp,
  createdAt: timestamp,
});
export type Invitation = z.infer<typeof invitationSchema>;

export const meSchema = component('Me', 'The signed-in user and the account.', {
  user: userSchema,
  isOperator: z.boolean().describe('Whether the user manages accounts.'),
  account: z.strictObject({
    id: z.uuid(),
    name: z.string(),
    slug: z.string(),
    defaultRegion: z.string().describe('Checks monitors without regions.'),
  }),
});
