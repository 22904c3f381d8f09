import winston from 'winston';
import { hideSecrets, redact, type HideSecrets } from './redact.ts';

export type Logger = winston.Logger;

export interface LoggerOptions {
  readonly service: string;
  readonly level?: 'error' | 'warn' | 'info' | 'debug' | undefined;
  /** Defaults to `LOG_FORMAT`, or to `pretty` on a terminal and `json` elsewhere. */
  readonly format?: 'json' | 'pretty' | undefined;
  readonly stream?: NodeJS.WritableStream;
  readonly secrets?: readonly string[];
}

/** Creates a logger that writes one line per message and hides secrets. Pass errors as a field: `logger.error('…', { error })`. */
export function createLogger({ service, level, format, stream, secrets = [] }: LoggerOptions): Logger {
  const render = (format ?? defaultFormat()) === 'pretty' ? prettyLine : jsonLine;
  return winston.createLogger({
    level: level ?? 'info',
    levels: winston.config.npm.levels,
    format: lineFormat(render, service, hideSecrets(secrets)),
    transports: [
      stream === undefined ? new winston.transports.Console() : new winston.transports.Stream({ stream }),
    ],
    exitOnError: false,
  });
}

export function createSilentLogger(): Logger {
  return winston.createLogger({ silent: true });
}

function defaultFormat(): 'json' | 'pretty' {
  const format = process.env['LOG_FORMAT'];
  if (format === 'json' || format === 'pretty') return format;
  return process.stdout.isTTY ? 'pretty' : 'json';
}

interface Line {
  readonly time: string;
  readonly level: string;
  readonly service: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** winston's transports read the finished line from this key. */
const RENDERED = Symbol.for('message');

function lineFormat(
  render: (line: Line) => string,
  service: string,
  hide: HideSecrets,
): winston.Logform.Format {
  return {
    transform(info) {
      const { level, message: given, ...rest } = info;
      const text = redact(given, hide);
      const message = typeof text === 'string' ? text : JSON.stringify(text);
      const fields: Line['fields'] = Object(redact({ ...rest }, hide));
      return {
        ...info,
        [RENDERED]: render({ time: new Date().toISOString(), level, service, message, fields }),
      };
    },
  };
}

function jsonLine({ fields, ...line }: Line): string {
  return JSON.stringify({ ...line, ...fields });
}

function prettyLine({ time, level, service, message, fields }: Line): string {
  const details = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${prettyValue(value)}`);
  return [time.slice(11, 23), level.padEnd(5), service, message, ...details].join(' ');
}

function prettyValue(value: unknown): string {
  if (typeof value === 'string') return /^\S*$/.test(value) ? value : JSON.stringify(value);
  if (typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string') {
    const cause = 'cause' in value ? `\n  caused by ${prettyValue(value.cause)}` : '';
    return `\n  ${value.stack.replaceAll('\n', '\n  ')}${cause}`;
  }
  return JSON.stringify(value);
}
