import { PassThrough } from 'node:stream';
import { createLogger, type Logger, type LoggerOptions } from '../logger.ts';

/** A logger whose output a test can read. By default it writes JSON. */
export function captureLog(options: Partial<LoggerOptions> = {}): { logger: Logger; text: () => string } {
  let log = '';
  const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text));
  return { logger: createLogger({ service: 'test', format: 'json', stream, ...options }), text: () => log };
}
