import { z } from 'zod';
import { label, oneOf, storableText } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { USER_ROLES } from '../vocabulary.ts';

/** An e-mail address, in lower case. */
export const emailSchema = storableText
  .overwrite((text) => text.trim().toLowerCase())
  .max(LIMITS.emailCharacters, { error: `must be at most ${LIMITS.emailCharacters} characters` })
  .refine((text) => z.email().safeParse(text).success, { error: 'must be an e-mail address' })
  .meta({ format: 'email' });

const { min, max } = LIMITS.passwordCharacters;
/** A password that somebody chooses. */
export const newPasswordSchema = storableText
  .min(min, { error: `must be at least ${min} characters` })
  .max(max, { error: `must be at most ${max} characters` });

/** Body of "change a user". */
export const updateUserSchema = z.strictObject({ role: oneOf(USER_ROLES) }).meta({ id: 'UserUpdate' });

/** Query of "remove a user". */
export const deleteUserQuerySchema = z.strictObject({
  revokeApiKeys: oneOf(['true', 'false'])
    .default('true')
    .describe('Whether the API keys that the user created are deleted, too.'),
});

/** Body of "invite somebody"; without an address, whoever has the link chooses one. */
export const createInvitationSchema = z
  .strictObject({
    email: emailSchema
      .nullish()
      .describe('Who is invited. Without it, whoever has the link chooses an address.'),
    role: oneOf(USER_ROLES).describe(
      'What the new user may do: an owner also manages people and sees secrets.',
    ),
  })
  .meta({ id: 'InvitationCreate' });

/** Body of "accept an invitation"; `email` counts only where the invitation names none. */
export const acceptInvitationSchema = z
  .strictObject({
    token: storableText.describe('From the link.'),
    name: label(LIMITS.nameCharacters).describe('How the new user is called.'),
    email: emailSchema.nullish().describe('Counts only where the invitation names no address.'),
    password: newPasswordSchema,
  })
  .meta({ id: 'InvitationAcceptance' });

const timestamp = z.iso.datetime({ precision: 3 });

/** A user as the account's people see one. */
export const userSchema = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    email: z.string(),
    role: z.enum(USER_ROLES).describe('An owner also manages people and sees secrets.'),
    createdAt: timestamp,
  })
  .meta({ id: 'User', description: 'A person who signs in to the dashboard.' });
export type User = z.infer<typeof userSchema>;

/** An invitation as owners of the account see it; its token is shown only when it is made. */
export const invitationSchema = z
  .strictObject({
    id: z.uuid(),
    role: z.enum(USER_ROLES).describe('Of the user it makes.'),
    email: z.string().nullable().describe('Null: whoever has the link chooses an address.'),
    expiresAt: timestamp,
    createdAt: timestamp,
  })
  .meta({ id: 'Invitation', description: 'An open invitation. Its token is shown only when it is made.' });
export type Invitation = z.infer<typeof invitationSchema>;

/** Who is signed in, and in which account. */
export const meSchema = z
  .strictObject({
    user: userSchema,
    account: z.strictObject({
      id: z.uuid(),
      name: z.string(),
      defaultRegion: z.string().describe('Checks the monitors that name no region.'),
    }),
  })
  .meta({ id: 'Me', description: 'Who is signed in, and in which account.' });
export type Me = z.infer<typeof meSchema>;
