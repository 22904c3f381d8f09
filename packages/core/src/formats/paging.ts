import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import type { Labels } from '@tocsin/contracts/labels/labels';
import { actionsOf, type Alert, shorten, titleOf } from './alert.ts';

const MAX_SUMMARY = 1_024;

/**
 * Formats an event of PagerDuty's Events API v2. `withRoutingKey` inserts the routing key. Maintenance resolves the alert, because PagerDuty
 * would notify nobody of a monitor that is DOWN afterwards if the alert were only acknowledged.
 */
export function toPagerDuty(alert: Alert): object {
  const { payload, monitor, incident } = alert;
  const { status, monitorId, monitorName, timestamp } = payload;
  const target = { routing_key: HIDDEN_SECRET, dedup_key: monitorId };
  if (status !== 'DOWN') return { ...target, event_action: 'resolve' };
  return {
    ...target,
    event_action: 'trigger',
    payload: {
      summary: shorten(titleOf(payload), MAX_SUMMARY),
      source: monitorName,
      severity: 'critical',
      timestamp: incident?.openedAt ?? timestamp,
      custom_details: { ...payload, labels: monitor.labels },
    },
    links: actionsOf(alert).map(({ title, url }) => ({ href: url, text: title })),
    client: 'Tocsin',
  };
}

const KEY_FIELD = '"routing_key":';

/** Inserts the routing key, which the stored body does not contain. */
export function withRoutingKey(body: string, routingKey: string): string {
  return body.replace(
    KEY_FIELD + JSON.stringify(HIDDEN_SECRET),
    () => KEY_FIELD + JSON.stringify(routingKey),
  );
}

/** Alertmanager ends an alert at this time at the latest. Each reminder extends it. */
const FIRING_MS = 30 * 86_400_000;

/**
 * Formats alerts for `POST /api/v2/alerts`. The labels identify the alert, so all events of an incident have the same ones. An alert ends
 * during maintenance, because Alertmanager would repeat its notification.
 */
export function toAlertmanager(alert: Alert): object[] {
  const { payload, monitor, incident, links } = alert;
  const { status, monitorId, monitorName, errorReason, timestamp, runbookUrl } = payload;
  const endsAt = status === 'DOWN' ? new Date(Date.parse(timestamp) + FIRING_MS).toISOString() : timestamp;
  return [
    {
      labels: {
        severity: 'critical',
        ...toMetricLabels(monitor.labels),
        alertname: 'TocsinMonitorDown',
        monitor_id: monitorId,
      },
      annotations: {
        summary: titleOf(payload),
        monitor_name: monitorName,
        ...(errorReason !== null && { error_reason: errorReason }),
        ...(runbookUrl !== null && { runbook_url: runbookUrl }),
      },
      startsAt: incident?.openedAt ?? timestamp,
      endsAt,
      ...(links.monitor !== null && { generatorURL: links.monitor }),
    },
  ];
}

/** Alertmanager accepts only letters, digits and underscores in names, and drops labels without a value. */
function toMetricLabels(labels: Labels): Labels {
  return Object.fromEntries(
    Object.entries(labels)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => [name.replaceAll(/[^a-zA-Z0-9_]/g, '_').replace(/^\d/, '_$&'), value]),
  );
}
