import type { monitorRoutes } from '@tocsin/contracts/monitors/routes';
import { readListedMonitors, readListVersion } from '@tocsin/db/monitors/list-monitors';
import type { ApiContext } from '../context.ts';
import { closedSignal } from '../http/closed-signal.ts';
import { hasVersion, weakEtagOf } from '../http/headers.ts';
import { type ApiRequest, SENT } from '../http/implement.ts';
import { createChunkSender } from '../http/send-chunks.ts';

type ListRequest = ApiRequest<typeof monitorRoutes.listMonitors>;

/** Creates the handler that lists all monitors. It sends long lists while it reads them. */
export function listHandler(
  context: Pick<ApiContext, 'db' | 'secrets' | 'heavyReads'>,
): (request: ListRequest) => Promise<typeof SENT> {
  const { heavyReads } = context;
  const sendChunks = createChunkSender({
    heavyReads,
    maxConcurrent: 16,
    content: 'the list of monitors of this account',
  });
  return async ({ caller, headers, query, req, res }) => {
    const { accountId } = caller;
    // The version is read first, so that it is never newer than the list.
    const version = await heavyReads.run(accountId, closedSignal(res), () =>
      readListVersion(context, caller, query),
    );
    if (version === null) return SENT;
    const setHeaders = (): void =>
      void res.set('ETag', weakEtagOf(version)).vary('Accept-Encoding').type('json');
    const ifNoneMatch = headers['If-None-Match'];
    const isCurrent = ifNoneMatch !== undefined && hasVersion(ifNoneMatch, version);
    if (isCurrent || req.method === 'HEAD') {
      setHeaders();
      res.status(isCurrent ? 304 : 200).end();
    } else await sendChunks(res, accountId, readList(), setHeaders);
    return SENT;

    async function* readList(): AsyncGenerator<string> {
      let separator = '{"monitors":[';
      for await (const page of readListedMonitors(context, caller, query)) {
        yield separator + page;
        separator = ',';
      }
      yield separator === ',' ? ']}' : `${separator}]}`;
    }
  };
}
