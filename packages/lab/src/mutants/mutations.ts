import { parse } from '@babel/parser';

/** One small change of a source file that a test should notice. */
export interface Mutation {
  /** Offsets in the source, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** `condition`, `operator`, `number`, `boolean`, `statement`, `call` or `sql`. */
  readonly kind: string;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const OPERATORS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
};

const METHODS = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
]);

const SQL = /\b(select|insert into|update|delete from|where|order by|returning)\b/i;
const SQL_CHANGES: readonly (readonly [RegExp, string])[] = [
  [/ and /g, ' or '],
  [/ or /g, ' and '],
  [/ <= /g, ' < '],
  [/ >= /g, ' > '],
  [/ < /g, ' <= '],
  [/ > /g, ' >= '],
  [/ = /g, ' <> '],
  [/ <> /g, ' = '],
  [/ \+ /g, ' - '],
  [/ - /g, ' + '],
  [/\bis null\b/g, 'is not null'],
  [/\bis not null\b/g, 'is null'],
  [/\bnot exists\b/g, 'exists'],
  [/\bgreatest\(/g, 'least('],
  [/\bleast\(/g, 'greatest('],
  [/ skip locked\b/g, ''],
  [/ for (no key )?update\b/g, ''],
  [/\bdistinct\b/g, ''],
  [/ desc\b/g, ' asc'],
  [/\bunion all\b/g, 'union'],
  [/\bleft join\b/g, 'join'],
];

/** Lists every mutation of a TypeScript source, in the order of the source. */
export function mutationsOf(source: string): Mutation[] {
  const found: Mutation[] = [];
  const program = parse(source, { sourceType: 'module', plugins: ['typescript'] }).program;
  visit(program as unknown as SyntaxNode, source, found);
  return found.sort((one, other) => one.start - other.start || one.end - other.end);
}

function visit(node: SyntaxNode, source: string, found: Mutation[]): void {
  // Types and imports do not run.
  if (/^(TS(?!NonNull|As|Satisfies)|Import|ExportAll)/.test(node.type)) return;
  found.push(...mutate(node, source));
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(child)) visit(child, source, found);
    }
  }
}

function mutate(node: SyntaxNode, source: string): Mutation[] {
  const { start, end } = node;
  const text = source.slice(start, end);
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
      return mutateOperator(node, source);
    case 'IfStatement':
    case 'ConditionalExpression': {
      const test = node['test'] as SyntaxNode;
      return ['true', 'false'].map((replacement) => ({
        start: test.start,
        end: test.end,
        replacement,
        kind: 'condition',
      }));
    }
    case 'UnaryExpression':
      return node['operator'] === '!' ? [{ start, end: start + 1, replacement: '', kind: 'operator' }] : [];
    case 'BooleanLiteral':
      return [{ start, end, replacement: text === 'true' ? 'false' : 'true', kind: 'boolean' }];
    case 'NumericLiteral':
      return [{ start, end, replacement: String(Number(node['value']) + 1), kind: 'number' }];
    case 'ExpressionStatement':
      // Tests need not notice a missing log line.
      return /^[\w.#]*log(ger)?[.?]/i.test(text) || node['directive'] !== undefined
        ? []
        : [{ start, end, replacement: ';', kind: 'statement' }];
    case 'MemberExpression': {
      const property = node['property'] as SyntaxNode;
      const replacement = METHODS.get(String(property['name']));
      return replacement === undefined || node['computed'] === true
        ? []
        : [{ start: property.start, end: property.end, replacement, kind: 'call' }];
    }
    case 'TemplateLiteral':
      return SQL.test(text)
        ? (node['quasis'] as SyntaxNode[]).flatMap((part) =>
            mutateSql(part.start, source.slice(part.start, part.end)),
          )
        : [];
    default:
      return [];
  }
}

function mutateOperator(node: SyntaxNode, source: string): Mutation[] {
  const [left, right] = [node['left'] as SyntaxNode, node['right'] as SyntaxNode];
  const operator = String(node['operator']);
  const replacement = OPERATORS[operator];
  if (replacement === undefined) return [];
  if (operator === '+' && [left, right].some(({ type }) => /StringLiteral|TemplateLiteral/.test(type)))
    return [];
  const start = source.indexOf(operator, left.end);
  return start === -1 || start >= right.start
    ? []
    : [{ start, end: start + operator.length, replacement, kind: 'operator' }];
}

function mutateSql(start: number, text: string): Mutation[] {
  return SQL_CHANGES.flatMap(([pattern, replacement]) =>
    [...text.matchAll(pattern)].map(({ index, 0: match }) => ({
      start: start + index,
      end: start + index + match.length,
      replacement,
      kind: 'sql',
    })),
  );
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
