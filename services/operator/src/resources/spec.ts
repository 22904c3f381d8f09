import { channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { z } from 'zod';
import { secretKeyRef, withValueSources } from './value-sources.ts';

const path = z.string().regex(/^\//).optional().describe('Path and query of the URL. Default: `/`.');
const hostRef = (kind: string) =>
  z.strictObject({
    name: z.string().describe(`Name of the ${kind}.`),
    host: z.string().optional().describe('One of its hosts. Default: the first one.'),
    path,
  });
const serviceRef = z.strictObject({
  name: z.string().describe('Name of the Service.'),
  port: z
    .union([z.int(), z.string()])
    .optional()
    .describe('Number or name of a port. Default: the first one.'),
  path,
});

const urlFrom = z
  .strictObject({
    ingressRef: hostRef('Ingress')
      .optional()
      .describe('An Ingress of the same namespace. The scheme is https for hosts with a certificate.'),
    httpRouteRef: hostRef('HTTPRoute')
      .optional()
      .describe(
        'An HTTPRoute of the same namespace. Scheme and port are those of the listener of its Gateway.',
      ),
    serviceRef: serviceRef
      .optional()
      .describe(
        'A Service of the same namespace. A checker or agent in the cluster must check it, and must be allowed to reach it.',
      ),
  })
  .describe('Exactly one object of the cluster whose address is checked.');
export type HostRef = z.infer<ReturnType<typeof hostRef>>;
export type UrlFrom = z.infer<typeof urlFrom>;

const deletionPolicy = z
  .enum(['Delete', 'Retain'])
  .optional()
  .describe('What happens in Tocsin when the resource is deleted. Default: Delete.');
const NAME = 'Display name. Default: namespace and name of the resource.';

const { externalId: _id, source: _source, ...monitorFields } = createMonitorSchema.shape;
const monitorOwn = { url: z.string().optional(), urlFrom: urlFrom.optional(), deletionPolicy };

export const monitorSpecSchema = z.strictObject({
  ...withValueSources(monitorFields),
  name: monitorFields.name.optional().describe(NAME),
  ...monitorOwn,
  url: monitorFields.url.optional(),
});

const {
  externalId: _channelId,
  monitorExternalIds: _monitorExternalIds,
  secret: _secret,
  ...channelFields
} = channelSetEntrySchema.shape;
const channelOwn = {
  url: z.string().optional(),
  urlFrom: z
    .strictObject({ secretKeyRef })
    .optional()
    .describe('Where the URL is read from, if it is a secret.'),
  secretRef: secretKeyRef
    .optional()
    .describe(
      'The secret that signs its webhooks: `whsec_` followed by 24 to 64 random bytes in base64. Default: a generated one.',
    ),
  deletionPolicy,
};

export const channelSpecSchema = z.strictObject({
  ...withValueSources(channelFields),
  name: channelFields.name.optional().describe(NAME),
  ...channelOwn,
  url: channelFields.url.optional(),
});

/** A spec before the operator validates it. The API server has validated that of a resource, but nobody that of an annotation. */
export type MonitorSpec = z.infer<z.ZodObject<typeof monitorOwn>> & Readonly<Record<string, unknown>>;
export type ChannelSpec = z.infer<z.ZodObject<typeof channelOwn>> & Readonly<Record<string, unknown>>;
