import { request, type Agent, type ClientRequest } from 'node:http';

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
}

/**
 * What became of a call. `refused`: nobody listens on the port. `notTaken`: a new connection was reset before any byte of an answer:
 * the server stopped listening while the connection waited to be taken. `broken`: a connection that had worked broke, or an answer did.
 */
export type ApiOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'refused' | 'notTaken' }
  | { readonly kind: 'broken'; readonly reason: string };

/** Longer than the api takes for a trigger that nobody answers. */
const PATIENCE_MS = 40_000;

/** Sends one call over a connection that the agent keeps. Never rejects. */
export function callApi(
  { baseUrl, apiKey, agent }: { baseUrl: string; apiKey: string; agent: Agent },
  { method, path, body }: ApiCall,
): Promise<ApiOutcome> {
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  return new Promise((resolve) => {
    const sent = request(baseUrl + path, { method, agent, headers, timeout: PATIENCE_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(answered(response.statusCode ?? 0, text)));
      response.on('error', (error) => resolve({ kind: 'broken', reason: `in the answer: ${error.message}` }));
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', (error) => resolve(failed(error, sent)));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function answered(status: number, text: string): ApiOutcome {
  try {
    return { kind: 'answered', status, body: text === '' ? null : (JSON.parse(text) as unknown) };
  } catch {
    return { kind: 'broken', reason: `an answer ${status} that is no JSON` };
  }
}

function failed(error: NodeJS.ErrnoException, sent: ClientRequest): ApiOutcome {
  if (error.code === 'ECONNREFUSED') return { kind: 'refused' };
  if (error.code === 'ECONNRESET' && !sent.reusedSocket) return { kind: 'notTaken' };
  return { kind: 'broken', reason: `${sent.reusedSocket ? 'kept' : 'new'} connection: ${error.message}` };
}
