import { STATUS_CODES } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { OpenApiDocument } from '../openapi/document.ts';
import type { JsonObject } from '../openapi/schemas.ts';

/** A request and its response. */
interface Exchange {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** The request's body or its text. Undefined without one. */
  readonly sent?: unknown;
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** Statuses of requests whose path or method is undeclared. */
const REFUSALS_OF_UNKNOWN = new Set([401, 403, 404, 405, 429, 503]);
/** Most schemas are used only a few times in a test file, so fast compilation matters more than fast validation. */
const COMMON = { strict: false, validateSchema: false, code: { optimize: false } } as const;
const OURS = /^\/(?:api\/|healthz|readyz|metrics)/;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: { readonly type?: string };
}

/** Validates the requests and responses of an api against an OpenAPI document. */
export class DocumentValidator {
  readonly #document: OpenApiDocument;
  readonly #templates: readonly (readonly [string, RegExp])[];
  /** Formats are validated in responses only, because requests may differ, such as in a timestamp without seconds. */
  readonly #responses = new Ajv2020({ ...COMMON, allErrors: true });
  readonly #requests = new Ajv2020({ ...COMMON, validateFormats: false });

  constructor(document: OpenApiDocument) {
    this.#document = document;
    // A fixed part takes precedence over a parameter in the same position: `{` sorts after letters.
    const paths = Object.keys(document.paths).sort();
    this.#templates = paths.map((path) => [path, new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`)]);
    this.#responses.addFormat('uuid', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    this.#responses.addFormat('date-time', (text) => isInstant(text));
    for (const format of ['iri', 'email']) this.#responses.addFormat(format, true);
    for (const ajv of [this.#responses, this.#requests]) ajv.addSchema(document, 'document');
  }

  /** Ignores paths outside the API. @throws Error if the exchange contradicts the document */
  validate(exchange: Exchange): void {
    const { method, path, status } = exchange;
    const [pathname = '', query = ''] = path.split('?');
    if (!OURS.test(pathname)) return;
    const demand: Demand = (holds, fault) => {
      if (!holds) throw new Error(`${method} ${path} returned ${status}, and the OpenAPI document ${fault}`);
    };
    const template = this.#templates.find(([, pattern]) => pattern.test(pathname))?.[0];
    const verb = (method === 'HEAD' ? 'GET' : method).toLowerCase();
    const operation = template === undefined ? undefined : this.#document.paths[template]?.[verb];
    if (template === undefined || operation === undefined) {
      demand(REFUSALS_OF_UNKNOWN.has(status), 'does not declare that route');
      this.#validateResponse(exchange, ['components', 'responses', 'NotFound'], demand);
      return;
    }
    const place = ['paths', template, verb];
    const responses = this.#at([...place, 'responses']);
    const key = [String(status), `${String(status)[0]}XX`].find((known) => known in responses);
    demand(key !== undefined, `does not declare that status (${STATUS_CODES[status]}): ${exchange.text}`);
    this.#validateResponse(exchange, [...place, 'responses', key ?? ''], demand);
    if (status < 300) this.#validateRequest(exchange, query, place, demand);
  }

  #validateResponse(exchange: Exchange, place: readonly string[], demand: Demand): void {
    const { method, headers, text } = exchange;
    const found = this.#follow(place);
    const response = this.#at(found);
    for (const name of Object.keys(response['headers'] ?? {})) {
      const header = this.#follow([...found, 'headers', name]);
      const value = headers[name.toLowerCase()];
      demand(value !== undefined || this.#at(header)['required'] !== true, `requires ${name}`);
      if (value !== undefined)
        this.#validateValue(this.#responses, [...header, 'schema'], value, name, demand);
    }
    if (method === 'HEAD') return;
    const { content } = response as { content?: JsonObject };
    if (content === undefined) {
      demand(text === '', `has no body there: ${text}`);
      return;
    }
    const type = (headers['content-type'] ?? '').split(';')[0] ?? '';
    demand(
      type in content,
      `has ${Object.keys(content).join(' or ')} there, not ${type || 'nothing'}: ${text}`,
    );
    if (!type.endsWith('json')) return;
    this.#validateValue(
      this.#responses,
      [...found, 'content', type, 'schema'],
      JSON.parse(text),
      'body',
      demand,
    );
  }

  /** An accepted request must be valid according to the document. */
  #validateRequest({ sent }: Exchange, query: string, place: readonly string[], demand: Demand): void {
    const { parameters = [], requestBody } = this.#at(place) as {
      parameters?: readonly Parameter[];
      requestBody?: { readonly required: boolean };
    };
    const given = new URLSearchParams(query);
    for (const [index, { name, in: where, required, schema }] of parameters.entries()) {
      if (where !== 'query') continue;
      const text = given.get(name);
      demand(text !== null || !required, `requires ${name}, but the request succeeded`);
      if (text === null) continue;
      const value = schema.type === 'integer' ? Number(text) : text;
      const at = [...place, 'parameters', String(index), 'schema'];
      this.#validateValue(this.#requests, at, value, name, demand);
    }
    // Bytes may be anything, such as a compressed body.
    if (requestBody === undefined || Buffer.isBuffer(sent)) return;
    demand(sent !== undefined || !requestBody.required, 'requires a body, but the request succeeded');
    if (sent === undefined) return;
    const value: unknown = typeof sent === 'string' ? JSON.parse(sent) : sent;
    const at = [...place, 'requestBody', 'content', 'application/json', 'schema'];
    this.#validateValue(this.#requests, at, value, 'the accepted request', demand);
  }

  #validateValue(ajv: Ajv2020, place: readonly string[], value: unknown, what: string, demand: Demand): void {
    const validate = ajv.getSchema(`document#/${place.map(toPointer).join('/')}`);
    if (validate === undefined) throw new Error(`no schema at ${place.join(' ')}`);
    const isValid = validate(value) === true;
    demand(isValid, `does not allow ${what}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
  }

  /** Resolves a `$ref` at this place, if there is one. */
  #follow(place: readonly string[]): readonly string[] {
    const { $ref } = this.#at(place);
    return typeof $ref === 'string' ? $ref.split('/').slice(1) : place;
  }

  #at(place: readonly string[]): JsonObject {
    return place.reduce<JsonObject>((found, key) => found[key] as JsonObject, this.#document);
  }
}

type Demand = (holds: boolean, fault: string) => void;

/** The API returns timestamps in UTC with milliseconds, or microseconds in the audit log. */
function isInstant(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text.replace(/(\.\d{3})\d{3}Z$/, '$1Z');
}

function toPointer(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}
