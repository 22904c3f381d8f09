import { z } from 'zod';
import { LIMITS } from './limits.ts';
import { label, oneOf, storableText } from './text.ts';
import { USER_ROLES } from './vocabulary.ts';

const email = storableText
  .overwrite((text) => text.trim().toLowerCase())
  .max(LIMITS.emailCharacters, { error: `must be at most ${LIMITS.emailCharacters} characters` })
  .refine((text) => z.email().safeParse(text).success, { error: 'must be an e-mail address' });

const { min, max } = LIMITS.passwordCharacters;
const password = storableText
  .min(min, { error: `must be at least ${min} characters` })
  .max(max, { error: `must be at most ${max} characters` });

/** Body of "change a user". */
export const updateUserSchema = z.strictObject({ role: oneOf(USER_ROLES) }).meta({ id: 'UserUpdate' });

/** Body of "invite somebody"; without an address, whoever has the link chooses one. */
export const createInvitationSchema = z
  .strictObject({ email: email.nullish(), role: oneOf(USER_ROLES) })
  .meta({ id: 'InvitationCreate' });

/** Body of "accept an invitation"; `email` counts only where the invitation names none. */
export const acceptInvitationSchema = z
  .strictObject({
    token: storableText,
    name: label(LIMITS.nameCharacters),
    email: email.nullish(),
    password,
  })
  .meta({ id: 'InvitationAcceptance' });

const timestamp = z.iso.datetime({ precision: 3 });

/** A user as the account's people see one. */
export const userSchema = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    email: z.string(),
    role: z.enum(USER_ROLES),
    createdAt: timestamp,
  })
  .meta({ id: 'User' });
export type User = z.infer<typeof userSchema>;

/** An invitation as owners of the account see it; its token is shown only when it is made. */
export const invitationSchema = z
  .strictObject({
    id: z.uuid(),
    role: z.enum(USER_ROLES),
    /** Null: whoever has the link chooses an address. */
    email: z.string().nullable(),
    expiresAt: timestamp,
    createdAt: timestamp,
  })
  .meta({ id: 'Invitation' });
export type Invitation = z.infer<typeof invitationSchema>;

/** Who is signed in, and in which account. */
export const meSchema = z
  .strictObject({ user: userSchema, account: z.strictObject({ id: z.uuid(), name: z.string() }) })
  .meta({ id: 'Me' });
export type Me = z.infer<typeof meSchema>;
