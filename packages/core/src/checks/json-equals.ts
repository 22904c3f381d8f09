import type { Budget } from './budget.ts';

/** Compares JSON values, without recursion because bodies may be nested deeply. @throws BudgetExceededError */
export function jsonEquals(one: unknown, other: unknown, budget: Budget): boolean {
  const pairs: (readonly [unknown, unknown])[] = [[one, other]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [left, right] = pair;
    budget.spend(typeof left === 'string' ? 1 + left.length / 100 : 1);
    if (left === right) continue;
    if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
      return false;
    if (Array.isArray(left) !== Array.isArray(right)) return false;
    const keys = Object.keys(left);
    if (keys.length !== Object.keys(right).length) return false;
    budget.spend(2 * keys.length);
    for (const key of keys) {
      if (!Object.hasOwn(right, key)) return false;
      pairs.push([(left as Record<string, unknown>)[key], (right as Record<string, unknown>)[key]]);
    }
  }
  return true;
}
