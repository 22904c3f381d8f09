import { DistantProxy, type DistantProxyOptions } from '@tocsin/lab/distant-proxy';
import { serveParent } from './helper-process.ts';

/* A proxy that makes a server far away, as a separate process, so that what it delays is not delayed by what is measured. */

export interface DistantProxyMessage extends Omit<DistantProxyOptions, 'stalls'> {
  /** Of the server. */
  readonly url: string;
  /** Null: none. */
  readonly stalls: { readonly share: number; readonly lastMs: number } | null;
}

serveParent(async ({ url, roundTripMs, stalls }: DistantProxyMessage): Promise<string> => {
  const proxy = await DistantProxy.start(url, { roundTripMs, ...(stalls && { stalls }) });
  return proxy.through(url);
});
