import { z } from 'zod';
import { component, label, oneOf, timestamp } from '../fields.ts';
import { LIMITS, REGION_PATTERN } from '../limits.ts';
import { emailSchema } from '../people/user.ts';
import { USER_ROLES } from '../vocabulary.ts';

export const QUOTAS = ['monitors', 'channels', 'maintenanceWindows', 'regions', 'checksPerMinute'] as const;
export type Quota = (typeof QUOTAS)[number];
/** Limit or usage by quota. */
export type Quotas = Readonly<Record<Quota, number>>;
/** Overrides for one account. Omitted quotas use the installation default. */
export type OwnQuotas = Readonly<Partial<Record<Quota, number | undefined>>>;

/** First path segments that do not belong to an account. */
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
    .replaceAll('ß', 'ss')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63);
}

/** First path segment of an account in the dashboard, with the syntax of a region code. */
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

const quotasSchema = component('AccountQuotas', 'Limits of an account.', {
  monitors: z.int(),
  channels: z.int(),
  maintenanceWindows: z.int().describe('Scheduled or running windows.'),
  regions: z.int().describe('Distinct regions that monitors of the account name or its agents serve.'),
  checksPerMinute: z.int().describe(`${perMinute} 0: no limit.`),
});

const usageSchema = component('AccountUsage', 'Current usage.', {
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
}).describe('Overrides for this account. Omitted quotas use the installation default.');

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
  .describe('Members of these groups join the account when they sign in through single sign-on.');

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
    .describe('First path segment in the dashboard. Defaults to a slug derived from the name.'),
});
export type NewAccount = z.output<typeof createAccountSchema>;

export const updateAccountSchema = component('AccountUpdate', {
  ...accountFields,
  name: accountFields.name.optional(),
  slug: slugSchema.optional().describe('Existing links stop working.'),
});
export type AccountUpdate = z.output<typeof updateAccountSchema>;

export const accountSchema = component('Account', 'A team with its own monitors, channels and users.', {
  id: z.uuid(),
  name: z.string(),
  slug: z.string().describe('First path segment in the dashboard.'),
  quotas: quotasSchema.describe('Effective limits. `ownQuotas` has the overrides.'),
  ownQuotas: newQuotasSchema.describe('Overrides for this account. `quotas` has the effective limits.'),
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
