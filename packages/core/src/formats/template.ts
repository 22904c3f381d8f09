import { LIMITS } from '@tocsin/contracts/limits';
import {
  Context,
  defaultOperators,
  type Emitter,
  filters,
  Liquid,
  LiquidError,
  type Template,
  toValueSync,
} from 'liquidjs';
import type { Alert } from './alert.ts';

/** Steps that one rendering may run. Counting them gives the same result on a busy machine, unlike a time limit. */
const MAX_STEPS = 1_000;
/** Characters and list elements that filters and ranges of one rendering may create. */
const MAX_ALLOCATED = 64 * 1024;
/** These tags read other templates, or create texts that the limit does not count. */
const EXCLUDED_TAGS = ['include', 'render', 'layout', 'block', 'capture'];
/** The cost of these filters grows in proportion to the text. Others could build lists of lists or search them for minutes. */
const FILTERS = new Set(
  (
    'abs append at_least at_most capitalize ceil date default divided_by downcase escape first floor join json last lstrip minus modulo ' +
    'plus prepend remove remove_first remove_last replace replace_first round rstrip size slice split strip strip_newlines times truncate ' +
    'truncatewords upcase url_encode'
  ).split(' '),
);

/** A template is invalid, or its result is no JSON document. The message says where and why. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

export type RenderTemplate = (alert: Alert) => string;

/** Parses a Liquid template without access to files. @returns its rendering, which throws TemplateError @throws TemplateError */
export function parseTemplate(template: string): RenderTemplate {
  let steps = 0;
  const countSteps = (count = 1): void => {
    steps += count;
    if (steps > MAX_STEPS)
      throw new Error(`runs more than ${MAX_STEPS} tags, outputs, filters and operators`);
  };
  const engine = createEngine(countSteps);
  const parsed = explain(() => engine.parse(template));
  return ({ payload, monitor, incident, links }) => {
    steps = 0;
    const scope = { ...payload, monitor: { labels: monitor.labels }, incident, links };
    const context = new Context(scope, engine.options, { sync: true }, { liquid: engine });
    // Liquid calls this before each tag, output and text.
    context.renderLimit.check = () => countSteps();
    const body = explain(() => renderBounded(engine, parsed, context));
    requireJson(body);
    return body;
  };
}

function createEngine(countSteps: (count?: number) => void): Liquid {
  const operators = Object.entries(defaultOperators).map(([name, operator]) => [
    name,
    (...operands: unknown[]): unknown => {
      countSteps(1 + stepsFor(operands));
      return Reflect.apply(operator, undefined, operands);
    },
  ]);
  const engine = new Liquid({
    strictFilters: true,
    ownPropertyOnly: true,
    templates: {},
    timezoneOffset: 0,
    parseLimit: LIMITS.templateCharacters,
    memoryLimit: MAX_ALLOCATED,
    operators: Object.fromEntries(operators) as typeof defaultOperators,
  });
  for (const tag of EXCLUDED_TAGS) Reflect.deleteProperty(engine.tags, tag);
  for (const [name, filter] of Object.entries(filters)) {
    engine.unregisterFilter(name);
    if (!FILTERS.has(name) || typeof filter !== 'function') continue;
    engine.registerFilter(name, function (value: unknown, ...args: unknown[]): unknown {
      // A format of a date is slow to apply for each of its characters.
      countSteps(1 + (name === 'date' ? String(args[0]).length : stepsFor([value, ...args])));
      // Without a value, Liquid's own filter writes nothing, which is not JSON.
      return filter.call(this, name === 'json' ? (value ?? null) : value, ...args);
    });
  }
  return engine;
}

/** Counts what lists and long texts cost besides the step itself. A filter may parse a text as a number, or search it. */
function stepsFor(operands: readonly unknown[]): number {
  const steps = operands.map((operand) => {
    if (Array.isArray(operand)) return operand.length;
    return typeof operand === 'string' ? Math.floor(operand.length / 500) : 0;
  });
  return steps.reduce((sum, each) => sum + each, 0);
}

function renderBounded(engine: Liquid, parsed: Template[], context: Context): string {
  const emitter: Emitter = {
    buffer: '',
    write(value: unknown) {
      this.buffer += [value].flat(Infinity).join('');
      // A character has at least one byte, so the text is never much longer than allowed.
      if (this.buffer.length > LIMITS.webhookBodyBytes) throw tooLarge();
    },
  };
  toValueSync(engine.renderer.renderTemplates(parsed, context, emitter) as Generator);
  if (Buffer.byteLength(emitter.buffer) > LIMITS.webhookBodyBytes) throw tooLarge();
  return emitter.buffer;
}

function tooLarge(): Error {
  return new Error(`renders more than ${LIMITS.webhookBodyBytes} bytes`);
}

/** Liquid's own messages end with the file, line and column, and errors of nested tags begin with another position. */
const POSITION = /, (?:file:[^,]*, )?line:\d+, col:\d+$/;

function explain<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!LiquidError.is(error)) throw new TemplateError(messageOf(error), { cause: error });
    const { token, originalError } = error as LiquidError & { readonly originalError?: unknown };
    const [line, column] = token.getPosition();
    const message = messageOf(originalError ?? error).replace(POSITION, '');
    throw new TemplateError(`line ${line}, column ${column}: ${message}`, { cause: error });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function requireJson(body: string): void {
  try {
    JSON.parse(body);
  } catch (error) {
    // Node's messages differ between versions, and may quote the body.
    const at = /position (\d+)/.exec(messageOf(error))?.[1];
    const before = body.slice(0, at === undefined ? body.length : Number(at)).split('\n');
    const position = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    const message = `the result is not JSON, at ${position} of the result. The filter json quotes and escapes a value`;
    throw new TemplateError(message, { cause: error });
  }
}
