import { USER_ROLES } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';

/* Records of the dashboard API that the contracts have no schema for, as docs/dashboard-api.md tells of them. */

const timestamp = z.iso.datetime({ precision: 3 });

export const apiKeyRecord = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  scopes: z.literal(['read', 'write', 'read,write']),
  expiresAt: timestamp.nullable(),
  lastUsedAt: timestamp.nullable(),
  createdAt: timestamp,
});

export const userRecord = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  email: z.string(),
  role: z.enum(USER_ROLES),
  createdAt: timestamp,
});

export const invitationRecord = z.strictObject({
  id: z.uuid(),
  role: z.enum(USER_ROLES),
  email: z.string().nullable(),
  expiresAt: timestamp,
  createdAt: timestamp,
});

export const accountRecord = z.strictObject({ id: z.uuid(), name: z.string() });
