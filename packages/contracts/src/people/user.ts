import { z } from 'zod';
import { label, oneOf, storableText, timestamp } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { USER_ROLES } from '../vocabulary.ts';

/** An e-mail address, in lower case. */
export const emailSchema = storableText
  .overwrite((text) => text.trim().toLowerCase())
  .max(LIMITS.emailCharacters, { error: `must be at most ${LIMITS.emailCharacters} characters` })
  .refine((text) => z.email().safeParse(text).success, { error: 'must be an e-mail address' })
  .meta({ format: 'email' });

const { min, max } = LIMITS.passwordCharacters;
export const newPasswordSchema = storableText
  .min(min, { error: `must be at least ${min} characters` })
  .max(max, { error: `must be at most ${max} characters` });

export const updateUserSchema = z.strictObject({ role: oneOf(USER_ROLES) }).meta({ id: 'UserUpdate' });

export const deleteUserQuerySchema = z.strictObject({
  revokeApiKeys: oneOf(['true', 'false'])
    .default('true')
    .describe('Whether to delete the API keys that the user created.'),
});

export const createInvitationSchema = z
  .strictObject({
    email: emailSchema
      .nullish()
      .describe('The invited address. Without it, the recipient of the link chooses one.'),
    role: oneOf(USER_ROLES).describe('An owner also manages people and sees secrets.'),
  })
  .meta({ id: 'InvitationCreate' });

export const acceptInvitationSchema = z
  .strictObject({
    token: storableText.describe('From the link.'),
    name: label(LIMITS.nameCharacters).describe('The name of the new user.'),
    email: emailSchema.nullish().describe('Used only if the invitation has no address.'),
    password: newPasswordSchema,
  })
  .meta({ id: 'InvitationAcceptance' });

export const userSchema = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    email: z.string(),
    role: z.enum(USER_ROLES).describe('An owner also manages people and sees secrets.'),
    createdAt: timestamp,
  })
  .meta({ id: 'User', description: 'A user of the dashboard.' });
export type User = z.infer<typeof userSchema>;

export const invitationSchema = z
  .strictObject({
    id: z.uuid(),
    role: z.enum(USER_ROLES).describe('Role of the new user.'),
    email: z.string().nullable().describe('Null: the recipient of the link chooses an address.'),
    expiresAt: timestamp,
    createdAt: timestamp,
  })
  .meta({ id: 'Invitation', description: 'An open invitation, without its token.' });
export type Invitation = z.infer<typeof invitationSchema>;

export const meSchema = z
  .strictObject({
    user: userSchema,
    account: z.strictObject({
      id: z.uuid(),
      name: z.string(),
      defaultRegion: z.string().describe('Checks monitors without regions.'),
    }),
  })
  .meta({ id: 'Me', description: 'The signed-in user and the account.' });
