import { channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { z } from 'zod';

const secretKeyRef = z
  .strictObject({
    name: z.string().describe('Name of a Secret in the namespace of the resource.'),
    key: z.string().describe('Key in the Secret.'),
  })
  .describe('A value in a Secret of the same namespace.');

const host = z.string().optional().describe('One of its hosts. Default: the first one.');
const path = z.string().regex(/^\//).optional().describe('Path and query of the URL. Default: `/`.');

const urlFrom = z
  .strictObject({
    ingressRef: z
      .strictObject({ name: z.string().describe('Name of the Ingress.'), host, path })
      .optional()
      .describe('An Ingress of the same namespace. The scheme is https for hosts with a certificate.'),
    httpRouteRef: z
      .strictObject({ name: z.string().describe('Name of the HTTPRoute.'), host, path })
      .optional()
      .describe(
        'An HTTPRoute of the same namespace. Scheme and port are those of the listener of its Gateway.',
      ),
    serviceRef: z
      .strictObject({
        name: z.string().describe('Name of the Service.'),
        port: z
          .union([z.int(), z.string()])
          .optional()
          .describe('Number or name of a port. Default: the first one.'),
        path,
      })
      .optional()
      .describe(
        'A Service of the same namespace. A checker or agent in the cluster must check it, and must be allowed to reach it.',
      ),
  })
  .describe('Exactly one object of the cluster whose address is checked.');

const header = z.strictObject({
  name: z.string().describe('Name of the header.'),
  value: z.string().optional().describe('Value of the header.'),
  valueFrom: z.strictObject({ secretKeyRef }).optional().describe('Where the value is read from.'),
});

const deletionPolicy = (noun: string): z.ZodType =>
  z
    .enum(['Delete', 'Retain'])
    .optional()
    .describe(`What happens to the ${noun} in Tocsin when the resource is deleted. Default: Delete.`);

const {
  externalId: _externalId,
  source: _source,
  url: monitorUrl,
  headers: monitorHeaders,
  name: monitorName,
  ...monitorFields
} = createMonitorSchema.shape;

export const monitorSpecSchema = z.strictObject({
  name: monitorName.optional().describe('Display name. Default: namespace and name of the resource.'),
  url: monitorUrl.optional(),
  urlFrom: urlFrom.optional(),
  ...z.strictObject(monitorFields).partial().shape,
  headers: z
    .array(header)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .optional()
    .describe(`${monitorHeaders.description ?? ''} Each has a \`value\` or \`valueFrom\`.`),
  deletionPolicy: deletionPolicy('monitor'),
});

const {
  externalId: _channelId,
  monitorExternalIds: _monitorExternalIds,
  secret: _secret,
  url: channelUrl,
  name: channelName,
  ...channelFields
} = channelSetEntrySchema.shape;

export const channelSpecSchema = z.strictObject({
  name: channelName.optional().describe('Display name. Default: namespace and name of the resource.'),
  url: channelUrl.optional(),
  urlFrom: z.strictObject({ secretKeyRef }).optional().describe('Where a secret URL is read from.'),
  secretRef: secretKeyRef
    .optional()
    .describe(
      'The secret that signs the webhooks: `whsec_` followed by 24 to 64 random bytes in base64. Default: a generated one, which the dashboard shows.',
    ),
  ...z.strictObject(channelFields).partial().shape,
  deletionPolicy: deletionPolicy('channel'),
});

export interface SecretKeyRef {
  readonly name: string;
  readonly key: string;
}
interface HostRef {
  readonly name: string;
  readonly host?: string;
  readonly path?: string;
}
export interface UrlFrom {
  readonly ingressRef?: HostRef;
  readonly httpRouteRef?: HostRef;
  readonly serviceRef?: { readonly name: string; readonly port?: number | string; readonly path?: string };
}
interface CommonSpec {
  readonly name?: string;
  readonly url?: string;
  readonly deletionPolicy?: 'Delete' | 'Retain';
}

/** A spec as the API server accepted it. Its other fields are those of the API, and are not validated yet. */
export interface MonitorSpec extends CommonSpec {
  readonly urlFrom?: UrlFrom;
  readonly headers?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: SecretKeyRef };
  }[];
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly [field: string]: unknown;
}
export interface ChannelSpec extends CommonSpec {
  readonly urlFrom?: { readonly secretKeyRef: SecretKeyRef };
  readonly secretRef?: SecretKeyRef;
  readonly [field: string]: unknown;
}
