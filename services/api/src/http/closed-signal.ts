import type { Response } from 'express';

/** Aborts when the response has been sent or its client has disconnected. */
export function closedSignal(res: Response): AbortSignal {
  const closed = new AbortController();
  const { socket } = res.req;
  const close = (): void => {
    res.off('close', close);
    socket.off('close', close);
    closed.abort();
  };
  res.once('close', close);
  // A response behind another one gets no event when its connection closes.
  socket.once('close', close);
  if (socket.destroyed) close();
  return closed.signal;
}
