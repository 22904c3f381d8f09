import { z } from 'zod';
import { byStatus, MONITOR_NAME, PAGERDUTY_URL, type Receiver, toChannel, toTemplate } from './channels.ts';
import { durationSeconds } from './gatus-conditions.ts';
import { headersFrom, type ImportedChannel } from './translation.ts';

const text = z.string().nullish().catch(null);
const flag = z.boolean().nullish().catch(null);
const count = z.number().nullish().catch(null);

/** A variable in place of a number or boolean counts as not set. */
const settings = z.looseObject({
  enabled: flag,
  'failure-threshold': count,
  'success-threshold': count,
  'send-on-resolved': flag,
  'minimum-reminder-interval': text,
  description: text,
  'provider-override': z.looseObject({}).nullish(),
});
export const alertSchema = settings.extend({ type: z.string() });
export type Alert = z.infer<typeof alertSchema>;

const provider = z.looseObject({
  'default-alert': settings.nullish(),
  overrides: z.array(z.looseObject({ group: text })).nullish(),
});
export const alertingSchema = z.record(z.string(), provider.nullish()).nullish();
export type Alerting = z.infer<typeof alertingSchema>;

/** Returns enabled alerts with the defaults of their type. Zero counts as not set. */
export function enabledAlerts(alerts: readonly Alert[] | null | undefined, alerting: Alerting): Alert[] {
  return (alerts ?? [])
    .map((alert) => {
      const own = Object.entries(alert).filter(
        ([, value]) => value !== null && value !== undefined && value !== 0,
      );
      return Object.assign({}, alerting?.[alert.type]?.['default-alert'], Object.fromEntries(own)) as Alert;
    })
    .filter(({ enabled }) => enabled !== false);
}

/** @param remarks receives alerts without an equivalent */
export function channelsFrom(
  alerts: readonly Alert[],
  group: string | null | undefined,
  alerting: Alerting,
  remarks: string[],
): ImportedChannel[] {
  return alerts.flatMap((alert) => {
    const { type } = alert;
    const common = alerting?.[type];
    const override = common?.overrides?.find((one) => one.group === group);
    const given = { ...common, ...override, ...alert['provider-override'] };
    const receiver = common ? toReceiver(type, given, alert, remarks) : '`alerting` does not configure them';
    const reminder = durationSeconds(alert['minimum-reminder-interval'] ?? '') ?? 0;
    if (typeof receiver === 'string') return toChannel(type, receiver, reminder, remarks);
    if (given['title'] !== undefined) remarks.push(`not imported: title of alerts by ${type}`);
    const events = alert['send-on-resolved'] === true ? {} : { events: ['monitor.down'] };
    return toChannel(type, { ...receiver, ...events }, reminder, remarks);
  });
}

function toReceiver(
  type: string,
  given: Readonly<Record<string, unknown>>,
  { description }: Alert,
  remarks: string[],
): Receiver {
  const { url, method, headers } = given;
  switch (type) {
    case 'slack':
      return { url: given['webhook-url'], format: 'slack' };
    case 'teams':
      remarks.push('alerts by teams need the URL of a Teams workflow');
      return { url: given['webhook-url'], format: 'teams' };
    case 'teams-workflows':
      return { url: given['webhook-url'], format: 'teams' };
    case 'pagerduty':
      return { url: PAGERDUTY_URL, format: 'pagerduty', routingKey: given['integration-key'] };
    case 'custom': {
      if (method !== 'POST') return 'their method is not POST';
      if (String(url).search(PLACEHOLDER) >= 0) return 'their URL has placeholders';
      const states = statesSchema.safeParse(given['placeholders']).data?.ALERT_TRIGGERED_OR_RESOLVED;
      const liquid: Readonly<Record<string, string>> = {
        '[ENDPOINT_NAME]': MONITOR_NAME,
        '[ENDPOINT_GROUP]': '{{ monitor.labels.group }}',
        '[ALERT_DESCRIPTION]': JSON.stringify(description ?? '').slice(1, -1),
        '[RESULT_ERRORS]': '{{ errorReason }}',
        '[RESULT_CONDITIONS]': '{{ errorReason }}',
        '[ALERT_TRIGGERED_OR_RESOLVED]': byStatus(
          states?.TRIGGERED ?? 'TRIGGERED',
          states?.RESOLVED ?? 'RESOLVED',
        ),
      };
      const template = toTemplate(given['body'], PLACEHOLDER, (found) => liquid[found]);
      if (typeof template === 'string') return template;
      const own = z.record(z.string(), z.unknown()).safeParse(headers).data ?? {};
      return { url, format: 'custom', ...template, headers: headersFrom(own, remarks) };
    }
    default:
      return 'Tocsin has no such channel';
  }
}

const PLACEHOLDER = /\[[A-Z_]{3,}\]/g;

const statesSchema = z.object({
  ALERT_TRIGGERED_OR_RESOLVED: z.object({ TRIGGERED: z.string(), RESOLVED: z.string() }).partial(),
});
