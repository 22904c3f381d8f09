import { jsonpath } from 'json-p3';
import { type Budget, BudgetExceededError } from './budget.ts';
import { cached } from './lru.ts';
import { jsonEquals } from './json-equals.ts';
import { matchesExpression } from './regular-expression.ts';

const CACHED_PATHS = 10_000;
/** Characters that are compared or counted in the time of a step. */
const CHARACTERS_PER_STEP = 100;
const LARGE_OBJECT = 1_000;
const NO_CHILDREN: readonly unknown[] = [];
const { expressions, selectors } = jsonpath;
type Query = jsonpath.JSONPathQuery;
type Expression = jsonpath.expressions.FilterExpression;

/** The library parses. Its evaluation is recursive and unbounded, so this file has its own. */
const environment = new jsonpath.JSONPathEnvironment({ strict: true });
const queryOf = cached(CACHED_PATHS, (path) => environment.compile(path));
/** The library does not export this class. */
const DescendantSegment = environment.compile('$..*').segments[0]
  ?.constructor as typeof jsonpath.JSONPathSegment;

/** Returns why a path is invalid, with the position, or null. */
export function jsonPathProblem(path: string): string | null {
  try {
    queryOf(path);
    return null;
  } catch (error) {
    if (!(error instanceof jsonpath.JSONPathError)) return 'cannot be parsed';
    // The library ends its messages with the beginning of the path and an index.
    const reason = error.message.replace(/ \('[^]*':\d+\)$/, '');
    return `${reason} at character ${error.token.index + 1}`;
  }
}

/** Selects values by JSONPath (RFC 9535), in order. @throws BudgetExceededError */
export function selectJson(path: string, document: unknown, budget: Budget): unknown[] {
  return new Evaluation(document, budget).select(queryOf(path), document);
}

class Evaluation {
  readonly #root: unknown;
  readonly #budget: Budget;
  /** Values of objects that V8 would need long to list again. */
  readonly #largeObjects = new Map<object, unknown[]>();

  constructor(root: unknown, budget: Budget) {
    this.#root = root;
    this.#budget = budget;
  }

  select({ segments }: Query, start: unknown): unknown[] {
    let nodes: unknown[] = [start];
    for (const segment of segments) {
      const selected: unknown[] = [];
      const visited = segment instanceof DescendantSegment ? this.#descendants(nodes) : nodes;
      for (const node of visited) {
        for (const selector of segment.selectors) this.#apply(selector, node, selected);
      }
      nodes = selected;
    }
    return nodes;
  }

  /** Returns the nodes and all their descendants. A parent comes before its children. */
  #descendants(nodes: readonly unknown[]): unknown[] {
    const visited: unknown[] = [];
    const waiting = nodes.toReversed();
    while (waiting.length > 0) {
      const node = waiting.pop();
      visited.push(node);
      const children = this.#childrenOf(node);
      for (let at = children.length - 1; at >= 0; at -= 1) waiting.push(children[at]);
    }
    return visited;
  }

  #childrenOf(node: unknown): readonly unknown[] {
    if (!Array.isArray(node) && !isObject(node)) return NO_CHILDREN;
    const known = Array.isArray(node) ? (node as unknown[]) : this.#largeObjects.get(node);
    const children = known ?? Object.values(node);
    if (known === undefined && children.length > LARGE_OBJECT) this.#largeObjects.set(node, children);
    this.#budget.spend(children.length);
    return children;
  }

  #apply(selector: jsonpath.JSONPathSelector, node: unknown, selected: unknown[]): void {
    this.#budget.spend(1);
    if (selector instanceof selectors.NameSelector) {
      if (isObject(node) && Object.hasOwn(node, selector.name)) selected.push(node[selector.name]);
    } else if (selector instanceof selectors.IndexSelector) {
      if (!Array.isArray(node)) return;
      const index = selector.index < 0 ? node.length + selector.index : selector.index;
      if (index >= 0 && index < node.length) selected.push(node[index]);
    } else if (selector instanceof selectors.SliceSelector) {
      if (Array.isArray(node)) this.#slice(selector, node, selected);
    } else if (selector instanceof selectors.FilterSelector) {
      for (const child of this.#childrenOf(node)) {
        if (this.#isTrue(selector.expression, child)) selected.push(child);
      }
    } else {
      for (const child of this.#childrenOf(node)) selected.push(child);
    }
  }

  /** Implements section 2.3.4.2 of the RFC. */
  #slice(
    { start, stop, step = 1 }: InstanceType<typeof selectors.SliceSelector>,
    array: readonly unknown[],
    selected: unknown[],
  ): void {
    if (step === 0) return;
    const { length } = array;
    const normalize = (index: number): number => (index < 0 ? length + index : index);
    const isForward = step > 0;
    const [min, max] = isForward ? [0, length] : [-1, length - 1];
    const clamp = (index: number): number => Math.min(Math.max(index, min), max);
    const from = clamp(normalize(start ?? (isForward ? 0 : length - 1)));
    const to = stop === undefined ? (isForward ? length : -1) : clamp(normalize(stop));
    for (let at = from; isForward ? at < to : at > to; at += step) {
      this.#budget.spend(1);
      selected.push(array[at]);
    }
  }

  #isTrue(expression: Expression, node: unknown): boolean {
    this.#budget.spend(1);
    if (expression instanceof expressions.LogicalExpression) return this.#isTrue(expression.expression, node);
    if (expression instanceof expressions.PrefixExpression) return !this.#isTrue(expression.right, node);
    if (expression instanceof expressions.FilterQuery) return this.#query(expression, node).length > 0;
    if (expression instanceof expressions.FunctionExtension) return this.#call(expression, node) === true;
    if (!(expression instanceof expressions.InfixExpression)) return false;
    const { left, operator, right } = expression;
    if (operator === '&&') return this.#isTrue(left, node) && this.#isTrue(right, node);
    if (operator === '||') return this.#isTrue(left, node) || this.#isTrue(right, node);
    return this.#compare(this.#valueOf(left, node), operator, this.#valueOf(right, node));
  }

  #query(query: InstanceType<typeof expressions.FilterQuery>, node: unknown): unknown[] {
    return this.select(query.path, query instanceof expressions.RootQuery ? this.#root : node);
  }

  /** Returns undefined for the RFC's Nothing. */
  #valueOf(expression: Expression, node: unknown): unknown {
    this.#budget.spend(1);
    if (expression instanceof expressions.FilterQuery) {
      const values = this.#query(expression, node);
      return values.length === 1 ? values[0] : undefined;
    }
    if (expression instanceof expressions.FunctionExtension) return this.#call(expression, node);
    return (expression as InstanceType<typeof expressions.NumberLiteral>).value ?? null;
  }

  #call(
    { name, args: [first, second] }: InstanceType<typeof expressions.FunctionExtension>,
    node: unknown,
  ): unknown {
    if (first === undefined) return undefined;
    if (name === 'count')
      return this.#query(first as InstanceType<typeof expressions.FilterQuery>, node).length;
    const value = this.#valueOf(first, node);
    if (name === 'value') return value;
    if (name === 'length') return this.#lengthOf(value);
    const pattern = second && this.#valueOf(second, node);
    if (typeof value !== 'string' || typeof pattern !== 'string') return false;
    // A document may contain a new expression in each node. Brackets without an end take quadratic time, and flags are not in RFC 9485.
    if (!(second instanceof expressions.StringLiteral)) {
      this.#budget.spend(3_000 + 50 * pattern.length + pattern.length ** 2 / 16);
      if (pattern.includes('(?')) return false;
    }
    try {
      return matchesExpression(toRe2(pattern, name === 'match'), value, this.#budget);
    } catch (error) {
      if (error instanceof BudgetExceededError) throw error;
      return false;
    }
  }

  #lengthOf(value: unknown): number | undefined {
    if (typeof value !== 'string')
      return isObject(value) || Array.isArray(value) ? this.#childrenOf(value).length : undefined;
    this.#budget.spend(value.length / 10);
    // Counts characters instead of UTF-16 units.
    return Array.from(value).length;
  }

  #compare(left: unknown, operator: string, right: unknown): boolean {
    if (operator === '==') return jsonEquals(left, right, this.#budget);
    if (operator === '!=') return !jsonEquals(left, right, this.#budget);
    if (operator === '>' || operator === '>=') return this.#compare(right, operator.replace('>', '<'), left);
    if (operator === '<=' && jsonEquals(left, right, this.#budget)) return true;
    if (typeof left === 'number' && typeof right === 'number') return left < right;
    if (typeof left !== 'string' || typeof right !== 'string') return false;
    this.#budget.spend(left.length / CHARACTERS_PER_STEP);
    return left < right;
  }
}

/** Translates an I-Regexp (RFC 9485), whose dot excludes carriage returns. */
function toRe2(pattern: string, isWhole: boolean): string {
  const translated = pattern.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]|\./gs, (part) =>
    part === '.' ? '[^\\n\\r]' : part,
  );
  return isWhole ? `^(?:${translated})$` : translated;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
