import { shellQuote, withinQuotes } from '../monitors/show/code/monitor-curl.ts';
import type { Operation } from './list-operations.ts';

/** An operation as a command to copy, with an API key from the environment. Ids are to be filled in. */
export function operationCurl(operation: Operation, origin: string, example: unknown): string {
  const { method, path, credentials } = operation;
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${shellQuote(`${origin}${path}`)}`];
  if (credentials.includes('API key')) lines.push(`-H "Authorization: Bearer $TOCSIN_API_KEY"`);
  if (example !== undefined)
    lines.push(
      `-H 'Content-Type: application/json'`,
      `--data-raw '${withinQuotes(JSON.stringify(example, null, 2))}'`,
    );
  return lines.join(' \\\n  ');
}
