import winston from 'winston';
import { KnownSecrets, redact } from './redact.ts';

export type Logger = winston.Logger;
type LogLevel = 'error' | 'warn' | 'info' | 'debug';

export interface LoggerOptions {
  /** The `service` field of every line. */
  readonly service: string;
  /** Default `info`. */
  readonly level?: LogLevel | undefined;
  /** Default: `LOG_FORMAT`, else `pretty` on a terminal and `json` elsewhere. */
  readonly format?: 'json' | 'pretty' | undefined;
  /** Where lines go; default the standard output. */
  readonly stream?: NodeJS.WritableStream;
  /** Values that no line may show, in whatever text they turn up. */
  readonly secrets?: readonly string[];
}

/**
 * One line per message. Give errors as a field: `logger.error('Could not …', { error })`: they are written with
 * stack and cause. Secrets are hidden at every depth, see `redact.ts`.
 */
export function createLogger(options: LoggerOptions): Logger {
  const pretty = (options.format ?? defaultFormat()) === 'pretty';
  return winston.createLogger({
    level: options.level ?? 'info',
    levels: winston.config.npm.levels,
    format: line(pretty ? prettyLine : jsonLine, options.service, new KnownSecrets(options.secrets ?? [])),
    transports: [
      options.stream === undefined
        ? new winston.transports.Console()
        : new winston.transports.Stream({ stream: options.stream }),
    ],
    exitOnError: false,
  });
}

/** A logger that writes nothing, for tests and for callers that do not care. */
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

/** winston passes a line on as the symbol-keyed `message` of its record. */
const RENDERED = Symbol.for('message');

function line(render: (line: Line) => string, service: string, known: KnownSecrets): winston.Logform.Format {
  return {
    transform(info) {
      const { level, message, ...fields } = info;
      const rendered = render({
        time: new Date().toISOString(),
        level,
        service,
        message:
          typeof message === 'string'
            ? String(redact(message, known))
            : JSON.stringify(redact(message, known)),
        fields: redactedFields(fields, known),
      });
      return { ...info, [RENDERED]: rendered };
    },
  };
}

function redactedFields(fields: object, known: KnownSecrets): Record<string, unknown> {
  const safe = redact({ ...fields }, known);
  return typeof safe === 'object' && safe !== null ? { ...safe } : {};
}

function jsonLine({ time, level, service, message, fields }: Line): string {
  return JSON.stringify({ time, level, service, message, ...fields });
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
