import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ChannelFormat, WebhookEvent } from '@tocsin/contracts/vocabulary';
import { type Alert, sampleAlerts } from './alert.ts';
import { toSlack, toTeams } from './chat.ts';
import { toAlertmanager, toPagerDuty } from './paging.ts';
import { parseTemplate, type RenderTemplate, TemplateError } from './template.ts';

export type ChannelFormatFields = Pick<Channel, 'format' | 'template'>;

const FORMATS: Readonly<Record<Exclude<ChannelFormat, 'custom'>, (alert: Alert) => object>> = {
  standard: ({ payload }) => payload,
  slack: toSlack,
  teams: toTeams,
  pagerduty: toPagerDuty,
  alertmanager: toAlertmanager,
};

/** Returns what makes the body of each webhook. @throws TemplateError as the returned function does */
export function createRenderer({ format, template }: ChannelFormatFields): RenderTemplate {
  if (format !== 'custom') return (alert) => JSON.stringify(FORMATS[format](alert));
  if (template === null) throw new TemplateError('the channel has no template');
  return parseTemplate(template);
}

/** Renders each webhook event with sample values. @throws TemplateError */
export function previewBodies(
  channel: ChannelFormatFields,
  publicUrl: string,
): { readonly event: WebhookEvent; readonly body: string }[] {
  const render = createRenderer(channel);
  return sampleAlerts(publicUrl).map((alert) => {
    const { event } = alert.payload;
    try {
      return { event, body: render(alert) };
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new TemplateError(`${error.message} (event ${event})`, { cause: error });
    }
  });
}
