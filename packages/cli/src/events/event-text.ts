import type { Event } from '@tocsin/contracts/monitors/events';
import type { Colors } from 'picocolors/types.js';
import { plain } from '../terminal/plain.ts';
import { statusText } from '../terminal/status-text.ts';

/** An event in a line. */
export function eventText(event: Event, colors: Colors): string {
  const { timestamp, status, statusCode, latency, region, monitorName, errorReason, errorDetail, url } =
    event;
  const failure = [errorReason, errorDetail].filter((part) => part !== null).join(': ');
  return [
    timestamp,
    statusText(status, colors) + (status === 'UP' ? '  ' : ''),
    String(statusCode ?? '-').padStart(3),
    `${String(latency).padStart(5)} ms`,
    region,
    plain(monitorName),
    ...(url === null ? [] : [`(${plain(url)})`]),
    ...(failure === '' ? [] : [colors.red(plain(failure))]),
  ].join('  ');
}
