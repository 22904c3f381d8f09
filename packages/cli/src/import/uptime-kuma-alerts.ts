import { z } from 'zod';
import { parseJson } from '../terminal/text.ts';
import { byStatus, MONITOR_NAME, PAGERDUTY_URL, type Receiver, toTemplate } from './channels.ts';
import { headersFrom } from './translation.ts';

const text = z.string().nullish();
const settings = z.looseObject({ type: z.string(), name: text, httpMethod: text });
export type Settings = z.infer<typeof settings> & { readonly name: string };

/** Returns the settings of notifications by ID. */
export function notificationsFrom(list: readonly unknown[]): ReadonlyMap<string, Settings> {
  const notification = z.looseObject({ id: z.number(), name: text, config: z.string() });
  const entries = list.flatMap((entry): [string, Settings][] => {
    const { data } = notification.safeParse(entry);
    const config = settings.safeParse(parseJson(data?.config)).data;
    if (data === undefined || config === undefined) return [];
    return [[String(data.id), { ...config, name: data.name ?? config.name ?? config.type }]];
  });
  return new Map(entries);
}

export function toReceiver(given: Settings, remarks: string[]): Receiver {
  switch (given.type) {
    case 'slack':
      return { url: given['slackwebhookURL'], format: 'slack' };
    case 'teams':
      return { url: given['webhookUrl'], format: 'teams' };
    case 'PagerDuty':
      return {
        url: given['pagerdutyIntegrationUrl'] || PAGERDUTY_URL,
        format: 'pagerduty',
        routingKey: given['pagerdutyIntegrationKey'],
        ...(given['pagerdutyAutoResolve'] !== 'resolve' && { events: ['monitor.down'] }),
      };
    case 'webhook': {
      if ((given.httpMethod ?? 'post').toLowerCase() !== 'post') return 'they use GET';
      if (given['webhookContentType'] === 'form-data') return 'they are forms';
      const additional = parseJson(given['webhookAdditionalHeaders']);
      const own = z.record(z.string(), z.unknown()).safeParse(additional).data ?? {};
      const channel = { url: given['webhookURL'], headers: headersFrom(own, remarks) };
      if (given['webhookContentType'] === 'custom') {
        const template = toTemplate(given['webhookCustomBody'], TAG, toLiquid);
        return typeof template === 'string' ? template : { ...channel, format: 'custom', ...template };
      }
      remarks.push(`alerts by ${given.name} now have the payload of Tocsin`);
      return channel;
    }
    default:
      return `Tocsin has no format for ${given.type}`;
  }
}

const TAG = /\{\{.*?\}\}|\{%.*?%\}/gs;
const STATE = byStatus('🔴 Down', '✅ Up');
const VARIABLES: Readonly<Record<string, string>> = {
  name: MONITOR_NAME,
  'monitorjson.name': MONITOR_NAME,
  'monitorjson.id': '{{ monitorId }}',
  status: STATE,
  'heartbeatjson.status': byStatus('0', '1'),
  'heartbeatjson.msg': '{{ errorReason }}',
  'heartbeatjson.time': '{{ timestamp }}',
  'heartbeatjson.ping': '{{ latency }}',
  msg: `[${MONITOR_NAME}] [${STATE}] {{ errorReason }}`,
};

/** Uptime Kuma 1 has names of variables in upper case. */
function toLiquid(tag: string): string | undefined {
  const variable = tag.replaceAll(/^\{\{-?\s*|\s*-?\}\}$/g, '').replaceAll(/\[["'](\w+)["']\]/g, '.$1');
  return VARIABLES[variable.toLowerCase()];
}
