import { z } from 'zod';
import { component, label, oneOf, timestamp } from '../fields.ts';
import { LIMITS, REGION_PATTERN } from '../limits.ts';
import { emailSchema } from '../people/user.ts';
import { USER_ROLES } from '../vocabulary.ts';

export const QUOTAS = ['monitors', 'channels', 'maintenanceWindows', 'regions', 'checksPerMinute'] as const;
export type Quota = (typeof QUOTAS)[number];
/** Limit or usage by quota. */
export type Quotas = Readonly<Record<Quota, number>>;
/** Limits of one account, which replace those of the settings. */
export type OwnQuotas = Readonly<Partial<Record<Quota, number | undefined>>>;

/** First parts of paths that do not belong to an account. */
const RESERVED_SLUGS: ReadonlySet<string> = new Set([
  'api',
  'api-keys',
  'assets',
  'audit-log',
  'channels',
  'docs',
  'healthz',
  'incidents',
  'invitation',
  'maintenance',
  'metrics',
  'monitors',
  'operator',
  'people',
  'profile',
  'readyz',
  'regions',
  'reports',
  'schemas',
  'setup',
  'sign-in',
]);

export function isReservedSlug(slug: string): boolean {
  return RESERVED_SLUGS.has(slug);
}

/** Makes a slug from the name of an account. It may be empty or reserved. */
export function proposeSlug(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63);
}

/** The first part of an account's paths in the dashboard, with the syntax of a region code. */
const slugSchema = z
  .string({ error: 'must be a string' })
  .regex(REGION_PATTERN, {
    error: 'must have 1 to 63 lower-case letters, digits and hyphens, and not start with a hyphen',
    abort: true,
  })
  .refine((slug) => !isReservedSlug(slug), { error: 'is reserved for a page of the dashboard' });

const perMinute = 'Scheduled checks per minute, in all regions together.';
const limit = z
  .int({ error: 'must be a whole number' })
  .min(0, { error: 'must not be negative' })
  .max(1_000_000_000);

const quotasSchema = component('AccountQuotas', 'What an account may have.', {
  monitors: z.int(),
  channels: z.int(),
  maintenanceWindows: z.int().describe('Windows that are not over.'),
  regions: z.int().describe('Different regions that monitors name.'),
  checksPerMinute: z.int().describe(`${perMinute} 0: no limit.`),
});

const usageSchema = component('AccountUsage', 'What an account has.', {
  monitors: z.int(),
  channels: z.int(),
  maintenanceWindows: z.int(),
  regions: z.int(),
  checksPerMinute: z.number().describe(perMinute),
});

const newQuotasSchema = component('AccountQuotasInput', {
  monitors: limit.optional(),
  channels: limit.optional(),
  maintenanceWindows: limit.optional(),
  regions: limit.optional(),
  checksPerMinute: limit.optional(),
}).describe('Limits of this account. For limits that are left out, those of the settings apply.');

const groupSchema = component('AccountGroup', 'A group of the identity provider.', {
  group: label(LIMITS.nameCharacters).describe('The group, as in the claim.'),
  role: oneOf(USER_ROLES),
});
export type AccountGroup = z.infer<typeof groupSchema>;

const groupsSchema = z
  .array(groupSchema, { error: 'must be an array of groups' })
  .max(LIMITS.accountGroups, { error: `must contain at most ${LIMITS.accountGroups} groups` })
  .refine((groups) => new Set(groups.map(({ group }) => group)).size === groups.length, {
    error: 'must not contain a group twice',
  })
  .describe('Users of these groups become members when they sign in by single sign-on.');

const accountFields = {
  name: label(LIMITS.nameCharacters),
  slug: slugSchema,
  quotas: newQuotasSchema.optional(),
  groups: groupsSchema.optional(),
};

export const createAccountSchema = component('AccountCreate', {
  ...accountFields,
  slug: slugSchema
    .optional()
    .describe('First part of the paths in the dashboard. Unset: made from the name.'),
});
export type NewAccount = z.output<typeof createAccountSchema>;

export const updateAccountSchema = component('AccountUpdate', {
  ...accountFields,
  name: accountFields.name.optional(),
  slug: slugSchema.optional().describe('Links with the earlier slug stop working.'),
});
export type AccountUpdate = z.output<typeof updateAccountSchema>;

export const accountSchema = component('Account', 'A team with its own monitors, channels and users.', {
  id: z.uuid(),
  name: z.string(),
  slug: z.string().describe('The first part of its paths in the dashboard.'),
  quotas: quotasSchema,
  ownQuotas: newQuotasSchema.describe('The quotas of this account only. The others come from the settings.'),
  usage: usageSchema,
  groups: z.array(groupSchema),
  createdAt: timestamp,
});
export type Account = z.infer<typeof accountSchema>;

export const operatorSchema = component('Operator', 'A user who manages accounts.', {
  id: z.uuid(),
  name: z.string(),
  email: z.string(),
});
export type Operator = z.infer<typeof operatorSchema>;

export const setMemberSchema = component('MemberUpdate', {
  email: emailSchema,
  role: oneOf(USER_ROLES),
});

/** An account as its members see it. */
export const ownAccountSchema = component('OwnAccount', 'An account of the signed-in user.', {
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  role: z.enum(USER_ROLES),
});
export type OwnAccount = z.infer<typeof ownAccountSchema>;
