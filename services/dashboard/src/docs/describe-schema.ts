import { resolve, schemaName, type OpenApi, type Schema } from './open-api.ts';

export interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string | null;
  /** Bounds, choices and the default, in words. */
  readonly rules: readonly string[];
  /** Of an object, or of the objects of a list. */
  readonly fields: readonly FieldRow[];
}

/** Deep enough for every record; a schema that holds itself ends here. */
const MOST_LEVELS = 4;

/** The fields of an object, or of the objects of a list; empty for anything else. */
export function fieldsOf(document: OpenApi, schema: Schema, level = 0): FieldRow[] {
  const resolved = withoutNull(document, merged(document, schema));
  const target = merged(document, resolved.items ?? resolved);
  if (level >= MOST_LEVELS) return [];
  const alternatives = target.oneOf ?? target.anyOf;
  if (target.properties === undefined && alternatives !== undefined)
    return mergeAlternatives(alternatives.map((one) => fieldsOf(document, one, level)));
  return Object.entries(target.properties ?? {}).map(([name, field]) => ({
    name,
    type: typeOf(document, field),
    required: target.required?.includes(name) === true,
    description: merged(document, field).description ?? null,
    rules: rulesOf(withoutNull(document, merged(document, field))),
    fields: fieldsOf(document, field, level + 1),
  }));
}

/** A type in words, as `list of Monitor` or `string or null`. */
export function typeOf(document: OpenApi, schema: Schema): string {
  const name = schemaName(schema);
  if (name !== null) return name;
  const whole = merged(document, schema);
  const alternatives = whole.anyOf ?? whole.oneOf;
  if (alternatives !== undefined)
    return [...new Set(alternatives.map((one) => typeOf(document, one)))].join(' or ');
  if (whole.const !== undefined) return JSON.stringify(whole.const);
  const types = whole.type === undefined ? [] : [whole.type].flat();
  if (types.length === 0) return whole.enum ? 'string' : 'any';
  return types
    .map((type) => {
      if (type === 'array') return `list of ${whole.items ? typeOf(document, whole.items) : 'any'}`;
      return type === 'string' && whole.format !== undefined ? whole.format : type;
    })
    .join(' or ');
}

function merged(document: OpenApi, schema: Schema): Schema {
  const own = resolve(document, schema);
  // Beside a reference stands what is said of this use of it.
  const here = schema.description === undefined ? own : { ...own, description: schema.description };
  if (here.allOf === undefined) return here;
  const parts = here.allOf.map((part) => merged(document, part));
  return Object.assign({}, ...parts, here, {
    properties: Object.assign({}, ...parts.map(({ properties }) => properties), here.properties),
    required: [...parts.flatMap(({ required }) => required ?? []), ...(here.required ?? [])],
  }) as Schema;
}

/** The one thing that a value is where it is not null; the schema itself where there are several. */
function withoutNull(document: OpenApi, schema: Schema): Schema {
  const others = (schema.anyOf ?? schema.oneOf ?? []).filter(({ type }) => type !== 'null');
  const [only] = others;
  if (others.length !== 1 || !only) return schema;
  const { anyOf: _any, oneOf: _one, ...rest } = schema;
  return { ...rest, ...merged(document, only) };
}

/** Bounds, choices and the default, in words. */
export function rulesOf(schema: Schema): string[] {
  const rules = [
    schema.enum && `one of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}`,
    range(schema.minimum, bounded(schema.maximum), ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' entries'),
    schema.maxProperties !== undefined && `at most ${count(schema.maxProperties)} entries`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ];
  return rules.filter((rule) => typeof rule === 'string');
}

/** The largest safe integer is what a schema says where nothing was said. */
function bounded(maximum: number | undefined): number | undefined {
  return maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
}

function range(least: number | undefined, most: number | undefined, unit: string): string | false {
  if (most !== undefined && least !== undefined) return `${count(least)} to ${count(most)}${unit}`;
  if (most !== undefined) return `at most ${count(most)}${unit}`;
  return least !== undefined && least !== Number.MIN_SAFE_INTEGER && `at least ${count(least)}${unit}`;
}

const count = (value: number): string => value.toLocaleString('en');

function mergeAlternatives(alternatives: readonly FieldRow[][]): FieldRow[] {
  const isRequired = (name: string): boolean =>
    alternatives.every((fields) => fields.some((field) => field.name === name && field.required));
  const byName = new Map<string, FieldRow>();
  for (const field of alternatives.flat())
    if (!byName.has(field.name)) byName.set(field.name, { ...field, required: isRequired(field.name) });
  return [...byName.values()];
}
