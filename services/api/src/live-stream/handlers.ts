import { streamRoutes } from '@tocsin/contracts/live-stream/routes';
import { implement, SENT } from '../http/implement.ts';
import { stateOf } from '../http/request-state.ts';
import { writeStreamHeaders } from './client-stream.ts';
import { parsePosition } from './messages.ts';

export const streamApi = implement(streamRoutes, ({ streams }) => ({
  openStream: async ({ caller, headers, query, req, res }): Promise<typeof SENT> => {
    const position = parsePosition(headers['Last-Event-ID'], query.lastEventId);
    if (req.method === 'HEAD') {
      writeStreamHeaders(res);
      res.end();
      return SENT;
    }
    stateOf(res).isStream = true;
    await streams.open(req, res, { accountId: caller.accountId, userId: caller.userId, position });
    return SENT;
  },
}));
