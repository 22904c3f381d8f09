import { parseConnectTo } from '@tocsin/contracts/monitors/connection';
import type { MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { portOf, type Route } from '@tocsin/egress/connection';

export type RouteFields = Readonly<Partial<Pick<MonitorInput, 'ipFamily' | 'connectTo' | 'tls'>>>;

/**
 * Returns how to connect for a request, or null to connect to its origin. Like `curl --connect-to`, `connectTo` is for the host and port of the
 * monitor. Its client certificate and server name are for its origin, because the target chooses where redirects lead.
 */
export function routeOf(
  { ipFamily = null, connectTo = null, tls = null }: RouteFields,
  own: URL,
  url: URL,
): Route | null {
  if (ipFamily === null && connectTo === null && tls === null) return null;
  const isOwnHost = url.hostname === own.hostname && portOf(url) === portOf(own);
  const { ca, verify } = tls ?? {};
  return {
    family: ipFamily,
    destination: connectTo !== null && isOwnHost ? parseConnectTo(connectTo) : null,
    tls: tls !== null && url.origin === own.origin ? tls : { ca, verify },
  };
}
