import type { ClusterView } from '../kubernetes/cluster.ts';
import type { Gateway, HttpRoute, Ingress, Service } from '../kubernetes/objects.ts';
import type { HostRef, UrlFrom } from '../resources/spec.ts';
import { Problem } from './problem.ts';

/** An address without a path, such as `https://shop.example.com`. */
export interface Origin {
  readonly host: string;
  readonly origin: string;
}

/** @returns the URL of the object that a resource refers to @throws Problem */
export function urlOfReference(cluster: ClusterView, namespace: string, urlFrom: UrlFrom): string {
  const { ingressRef, httpRouteRef, serviceRef } = urlFrom;
  if ([ingressRef, httpRouteRef, serviceRef].filter((each) => each !== undefined).length !== 1)
    throw new Problem('Invalid', 'urlFrom: must have exactly one of ingressRef, httpRouteRef and serviceRef');
  if (ingressRef !== undefined) {
    const ingress =
      cluster.get('Ingress', namespace, ingressRef.name) ?? notFound('Ingress', ingressRef.name);
    return urlAt(ingressOrigins(ingress), ingressRef, `Ingress ${ingressRef.name}`);
  }
  if (httpRouteRef !== undefined) {
    const route =
      cluster.get('HTTPRoute', namespace, httpRouteRef.name) ?? notFound('HTTPRoute', httpRouteRef.name);
    return urlAt(routeOrigins(cluster, route), httpRouteRef, `HTTPRoute ${httpRouteRef.name}`);
  }
  const { name = '', port, path = '/' } = serviceRef ?? {};
  const service = cluster.get('Service', namespace, name) ?? notFound('Service', name);
  const origin = serviceOrigin(service, port);
  if (origin !== null) return origin.origin + path;
  throw new Problem('ReferenceNotFound', `urlFrom: Service ${name} has no port ${port ?? ''}`.trimEnd());
}

function notFound(kind: string, name: string): never {
  throw new Problem('ReferenceNotFound', `urlFrom: ${kind} ${name} does not exist in this namespace`);
}

function urlAt(origins: readonly Origin[], { host, path = '/' }: HostRef, owner: string): string {
  const found = host === undefined ? origins[0] : origins.find((each) => each.host === host);
  if (found !== undefined) return found.origin + path;
  const missing = host === undefined ? 'a host without a wildcard' : `the host ${host}`;
  throw new Problem('ReferenceNotFound', `urlFrom: ${owner} does not have ${missing}`);
}

const isConcrete = (host: string | undefined): host is string =>
  host !== undefined && host !== '' && !host.includes('*');

/** Lists the distinct hosts of an Ingress, except those with a wildcard. */
export function ingressOrigins({ spec: { rules = [], tls = [] } }: Ingress): Origin[] {
  const hosts = [...new Set(rules.map(({ host }) => host).filter(isConcrete))];
  const isCovered = (host: string): boolean =>
    tls.some(({ hosts: covered = [] }) => covered.length === 0 || covered.some((each) => covers(each, host)));
  return hosts.map((host) => ({ host, origin: `${isCovered(host) ? 'https' : 'http'}://${host}` }));
}

function covers(pattern: string, host: string): boolean {
  return pattern === host || (pattern.startsWith('*.') && host.slice(host.indexOf('.')) === pattern.slice(1));
}

/** Lists the Gateways of an HTTPRoute that the operator can read, each with the listeners that the route is attached to. */
function attachments(cluster: ClusterView, { metadata, spec }: HttpRoute) {
  return (spec.parentRefs ?? []).flatMap(
    ({ kind = 'Gateway', name, namespace = metadata.namespace, sectionName }) => {
      const gateway = kind === 'Gateway' ? cluster.get('Gateway', namespace, name) : undefined;
      if (gateway === undefined) return [];
      const { listeners = [] } = gateway.spec;
      return { gateway, listeners: listeners.filter((each) => [undefined, each.name].includes(sectionName)) };
    },
  );
}

export function gatewaysOf(cluster: ClusterView, route: HttpRoute): Gateway[] {
  return attachments(cluster, route).map(({ gateway }) => gateway);
}

/** Lists the distinct hosts of an HTTPRoute, except those with a wildcard. The scheme is https if a listener has it. */
export function routeOrigins(cluster: ClusterView, route: HttpRoute): Origin[] {
  const listeners = attachments(cluster, route).flatMap((attachment) => attachment.listeners);
  const secure = listeners.find(({ protocol }) => protocol === 'HTTPS' || protocol === 'TLS');
  const scheme = secure === undefined && listeners.length > 0 ? 'http' : 'https';
  const port = (secure ?? listeners[0])?.port;
  const suffix = port === undefined || port === (scheme === 'https' ? 443 : 80) ? '' : `:${port}`;
  // A route without hosts has those of its listeners.
  const { hostnames = [] } = route.spec;
  const names = hostnames.length > 0 ? hostnames : listeners.map(({ hostname }) => hostname);
  const hosts = new Set(names.filter(isConcrete));
  return [...hosts].map((host) => ({ host, origin: `${scheme}://${host}${suffix}` }));
}

/** Returns the address of a Service within the cluster, or null if it has no such port. @param port number or name. Undefined for the first */
export function serviceOrigin({ metadata, spec }: Service, port?: number | string): Origin | null {
  const ports = spec.ports ?? [];
  const found =
    port === undefined ? ports[0] : ports.find((each) => each.port === port || each.name === port);
  if (found === undefined) return null;
  const isSecure =
    found.port === 443 || [found.name, found.appProtocol].some((text) => text?.startsWith('https'));
  const scheme = isSecure ? 'https' : 'http';
  const host = `${metadata.name}.${metadata.namespace}.svc`;
  const suffix = found.port === (isSecure ? 443 : 80) ? '' : `:${found.port}`;
  return { host, origin: `${scheme}://${host}${suffix}` };
}
