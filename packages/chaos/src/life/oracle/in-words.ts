type Count = readonly [count: number, what: string];

/**
 * What is wrong, in words.
 * @param wrong what must not be at all
 * @param needed what must be, or the run is about nothing
 */
export function inWords(wrong: readonly Count[], needed: readonly Count[] = []): string[] {
  return [
    ...needed.filter(([count]) => count === 0).map(([, what]) => `there were no ${what}`),
    ...wrong.filter(([count]) => count !== 0).map(([count, what]) => `${count} ${what}`),
  ];
}
