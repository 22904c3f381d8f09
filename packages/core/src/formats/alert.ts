import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import type { Labels } from '@tocsin/contracts/labels/labels';
import { WEBHOOK_EVENTS, type WebhookEvent } from '@tocsin/contracts/vocabulary';

/** A webhook event with what formats and templates show besides its standard payload. */
export interface Alert {
  readonly payload: WebhookPayload;
  readonly monitor: { readonly labels: Labels };
  /** Null if the monitor has no incident. */
  readonly incident: { readonly id: string; readonly openedAt: string } | null;
  /** Pages of the dashboard. Null if its address is not known or there is no such page. */
  readonly links: { readonly monitor: string | null; readonly incident: string | null };
}

const STATUSES: Readonly<Record<WebhookEvent, Pick<WebhookPayload, 'status' | 'previousStatus'>>> = {
  'monitor.down': { status: 'DOWN', previousStatus: 'UP' },
  'monitor.up': { status: 'UP', previousStatus: 'DOWN' },
  'monitor.maintenance': { status: 'MAINTENANCE', previousStatus: 'DOWN' },
  'incident.created': { status: 'DOWN', previousStatus: 'UP' },
  'incident.resolved': { status: 'UP', previousStatus: 'DOWN' },
};

/** Returns each event with sample values, for previews and for validating templates. The name needs escaping in JSON. */
export function sampleAlerts(publicUrl: string): Alert[] {
  const monitorId = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
  const incident = { id: '019a9f16-1c2d-7e3f-9a4b-5c6d7e8f9a0b', openedAt: '2026-11-20T12:00:00.122Z' };
  return WEBHOOK_EVENTS.map((event) => {
    const { status, previousStatus } = STATUSES[event];
    return {
      payload: {
        event,
        monitorId,
        monitorName: 'Shop "checkout"',
        status,
        previousStatus,
        latency: 31,
        errorReason: status === 'DOWN' ? 'HTTP_503' : null,
        region: 'default',
        timestamp: '2026-11-20T12:00:00.123Z',
        runbookUrl: 'https://runbooks.example/shop',
      },
      monitor: { labels: { app: 'shop', team: 'checkout' } },
      incident,
      links: linksOf(publicUrl, monitorId, incident.id),
    };
  });
}

/** @param baseUrl address of the dashboard's pages, or null */
export function linksOf(
  baseUrl: string | null,
  monitorId: string | null,
  incidentId: string | null,
): Alert['links'] {
  const linkTo = (page: string, id: string | null): string | null =>
    baseUrl === null || id === null ? null : `${baseUrl}/${page}/${id}`;
  return { monitor: linkTo('monitors', monitorId), incident: linkTo('incidents', incidentId) };
}

const TITLES: Readonly<Record<WebhookEvent, string>> = {
  'monitor.down': 'is down',
  'monitor.up': 'is up',
  'monitor.maintenance': 'is in maintenance',
  'incident.created': 'has a new incident',
  'incident.resolved': 'has recovered from its incident',
};

/** Formats as `Shop is down`. */
export function titleOf({ event, monitorName }: WebhookPayload): string {
  return `${monitorName} ${TITLES[event]}`;
}

/** Lists names and values that a person reads. */
export function factsOf({ payload }: Alert): [name: string, value: string][] {
  const { status, previousStatus, errorReason, latency, region, timestamp } = payload;
  return [
    ['Status', `${previousStatus} → ${status}`],
    ...(errorReason === null ? [] : [['Reason', errorReason.replaceAll('_', ' ')] as [string, string]]),
    ...(latency === 0 ? [] : [['Latency', `${latency} ms`] as [string, string]]),
    ['Region', region],
    ['Time', timestamp],
  ];
}

/** Lists what a person can open, most helpful first. */
export function actionsOf({ payload, links }: Alert): { readonly title: string; readonly url: string }[] {
  return [
    { title: 'Open incident', url: links.incident },
    { title: 'Open monitor', url: links.monitor },
    { title: 'Open runbook', url: payload.runbookUrl },
  ].flatMap(({ title, url }) => (url === null ? [] : { title, url }));
}

/** Cuts text to a number of UTF-16 code units, without leaving half a character. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}
