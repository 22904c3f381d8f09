import { RE2JS, RE2JSSyntaxException } from 're2js';
import { type Budget, BudgetExceededError } from './budget.ts';
import { cached } from './lru.ts';

/** Characters of an expression with repetitions written out. Compiling more takes too long. */
const MAX_SIZE = 2_000;
/** Characters in ranges of an expression that ignores case. Compiling them takes about 30 ms. */
const MAX_FOLDED = 2_000_000;
/** V8 searches for longer texts in time proportional to the product of both lengths. */
const SAFE_LITERAL_CHARACTERS = 250;
/** Memory for the states of one expression, in bytes. */
const MAX_STATE_BYTES = 256 * 1024;
const CACHED_EXPRESSIONS = 2_000;
/** Characters that the engine reads in the time of a step, once it knows the states. */
const CHARACTERS_PER_STEP = 10;
const PARTS =
  /\\Q.*?(?:\\E|$)|\\[pP]\{.*?\}|\\x\{.*?\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu;

interface Expression {
  /** @throws BudgetExceededError */
  test(text: string, budget: Budget): boolean;
}

/** Searches text for an expression in RE2 syntax. @throws BudgetExceededError, or an Error if the syntax is invalid */
export function matchesExpression(pattern: string, text: string, budget: Budget): boolean {
  return expressionOf(pattern).test(text, budget);
}

/** Returns why the syntax of an expression is invalid, or null. */
export function expressionProblem(pattern: string): string | null {
  try {
    expressionOf(pattern);
    return null;
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) return (error as Error).message;
    const near = error.getPattern();
    return near ? `${error.getDescription()}: ${near}` : error.getDescription();
  }
}

const expressionOf = cached(CACHED_EXPRESSIONS, compile);

function compile(pattern: string): Expression {
  const size = sizeOf(pattern);
  if (size > MAX_SIZE)
    throw new Error(`repeats too much: ${size} characters written out, at most ${MAX_SIZE}`);
  if (widthOfFolding(pattern) > MAX_FOLDED) throw new Error('ignores case in ranges that are too wide');
  const expression = RE2JS.compile(pattern);
  const engine = expression.re2Input;
  if (size > SAFE_LITERAL_CHARACTERS) {
    engine.prefilter = null;
    engine.prefixComplete = false;
  }
  let budget: Budget | null = null;
  const { dfa } = engine;
  const costOfClass = Math.log2(dfa.numClasses + 1) / 15;
  dfa.stateBudget = MAX_STATE_BYTES;
  dfa.clearCache();
  // The engine caches states that it has computed. Only new ones take long, and a hostile expression has a new one for each character.
  const computeState = dfa.step.bind(dfa);
  dfa.step = (state, ...rest) => {
    budget?.spend(3 * (10 + state.nfaStates.length));
    return computeState(state, ...rest);
  };
  const classOf = dfa.runeClass.bind(dfa);
  dfa.runeClass = (character) => {
    budget?.spend(costOfClass);
    return classOf(character);
  };
  // The engine falls back to a slow one if there are too many states.
  engine.doExecuteNFA = () => {
    throw new BudgetExceededError();
  };
  return {
    test: (text, given) => {
      given.spend(1 + text.length / CHARACTERS_PER_STEP);
      budget = given;
      try {
        return expression.test(text);
      } catch (error) {
        // The next check starts over, so that the result does not depend on earlier checks.
        if (error instanceof BudgetExceededError) dfa.clearCache();
        throw error;
      }
    },
  };
}

/** Returns how many characters the engine compares with their other case. It visits each character of a range. */
function widthOfFolding(pattern: string): number {
  if (!/\(\?[a-z]*i/i.test(pattern)) return 0;
  return [...pattern.matchAll(/-(?:\\x\{([\da-f]+)\}|(.))/gisu)].reduce(
    (sum, [, code, character]) => sum + (character?.codePointAt(0) ?? Number.parseInt(code ?? '', 16)),
    0,
  );
}

/** Returns the number of characters and classes of an expression with repetitions written out. */
function sizeOf(pattern: string): number {
  const groups = [0];
  let last = 0;
  const add = (size: number): void => void groups.push((groups.pop() ?? 0) + size);
  for (const [part, min, max] of pattern.matchAll(PARTS)) {
    if (part === '(') {
      groups.push(0);
      last = 0;
    } else if (part === ')') {
      last = groups.length > 1 ? (groups.pop() ?? 0) : 0;
      add(last);
    } else if (min === undefined) {
      last = part.startsWith('\\Q') ? part.length : 1;
      add(last);
    } else {
      const repeated = last * (Math.max(Number(min), Number(max ?? 0), 1) - 1);
      last += repeated;
      add(repeated);
    }
  }
  return groups.reduce((sum, size) => sum + size, 0);
}
