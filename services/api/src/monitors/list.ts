import type { monitorRoutes } from '@tocsin/contracts/monitors/routes';
import {
  type MonitorListing,
  readListedMonitors,
  readListing,
  readListVersion,
} from '@tocsin/db/monitors/list-monitors';
import type { ApiContext } from '../context.ts';
import { hasVersion, weakEtagOf } from '../http/headers.ts';
import { type ApiRequest, SENT } from '../http/implement.ts';
import { createChunkSender } from '../http/send-chunks.ts';

type ListRequest = ApiRequest<typeof monitorRoutes.listMonitors>;

/** Creates the handler that lists all monitors. It sends long lists while it reads them. */
export function listHandler(
  context: Pick<ApiContext, 'db' | 'secrets'>,
): (request: ListRequest) => Promise<typeof SENT> {
  const sendChunks = createChunkSender({
    maxConcurrent: 16,
    content: 'the list of monitors of this account',
  });
  return async ({ caller, headers, query, req, res }) => {
    const ifNoneMatch = headers['If-None-Match'];
    if (ifNoneMatch !== undefined) {
      const version = await readListVersion(context, caller, query);
      if (hasVersion(ifNoneMatch, version)) {
        setHeaders(version);
        res.status(304).end();
        return SENT;
      }
    }
    const listing = await readListing(context, caller, query);
    if (req.method === 'HEAD') {
      setHeaders(listing.version);
      res.end();
    } else if (listing.count <= listing.pageMonitors) {
      let text = '';
      for await (const chunk of readList(listing)) text += chunk;
      setHeaders(listing.version);
      res.send(text);
    } else {
      await sendChunks(res, caller.accountId, readList(listing), () => setHeaders(listing.version));
    }
    return SENT;

    function setHeaders(version: string): void {
      res.set('ETag', weakEtagOf(version)).vary('Accept-Encoding').type('json');
    }

    async function* readList(listing: MonitorListing): AsyncGenerator<string> {
      let separator = '{"monitors":[';
      for await (const page of readListedMonitors(context, caller, listing)) {
        yield separator + page;
        separator = ',';
      }
      yield separator === ',' ? ']}' : `${separator}]}`;
    }
  };
}
