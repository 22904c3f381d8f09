import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { callerOf, stateOf } from '../http/request-state.ts';
import { writeStreamHeaders } from './client-stream.ts';
import { positionOf } from './messages.ts';

/** Events and status changes of the account as they come (design §3 "Dashboard API"). */
export function openStreamHandler({ streams }: Pick<ApiContext, 'streams'>): RequestHandler {
  return async function answerStream(req, res) {
    const { accountId, userId } = callerOf(res);
    if (userId === null) throw new Error('a stream is for signed-in users');
    const position = positionOf(req);
    if (req.method === 'HEAD') {
      writeStreamHeaders(res);
      res.end();
      return;
    }
    stateOf(res).isStream = true;
    await streams.open(req, res, { accountId, userId, position });
  };
}
