type Assertions = Record<string, string | number>;

/** One condition as assertions; null: it is no such condition. */
type Rule = (condition: string) => Assertions | null;

const HOURS: Readonly<Record<string, number>> = { h: 1, m: 1 / 60, s: 1 / 3_600 };

const RULES: readonly Rule[] = [
  matching(/^\[STATUS\] == (\d{3})$/, ([code]) => ({ statusCode: Number(code) })),
  matching(/^\[STATUS\] == any\((\d{3})\)$/, ([code]) => ({ statusCode: Number(code) })),
  // Gatus has it strictly less, Tocsin at most.
  matching(/^\[RESPONSE_TIME\] < (\d+)$/, ([limit]) => ({ maxLatency: Number(limit) - 1 })),
  matching(/^\[RESPONSE_TIME\] <= (\d+)$/, ([limit]) => ({ maxLatency: Number(limit) })),
  matching(/^\[BODY\] == pat\(\*([^*?[\]\\]+)\*\)$/s, ([part = '']) => ({ bodyContains: part })),
  matching(/^\[BODY\] != pat\(\*([^*?[\]\\]+)\*\)$/s, ([part = '']) => ({ bodyNotContains: part })),
  matching(/^\[CERTIFICATE_EXPIRATION\] >=? (\d+)([hms])$/, ([count, unit = '']) => ({
    certificateMinDays: Math.max(Math.ceil((Number(count) * (HOURS[unit] ?? 0)) / 24), 1),
  })),
  matching(/^\[CONNECTED\] == true$/, () => ({})),
];

function matching(pattern: RegExp, toAssertions: (groups: readonly string[]) => Assertions): Rule {
  return (condition) => {
    const match = pattern.exec(condition);
    return match === null ? null : toAssertions(match.slice(1));
  };
}

/** What Gatus' conditions come to. @param remarks takes those that Tocsin has no assertion for */
export function gatusAssertions(conditions: readonly string[], remarks: string[]): Assertions | null {
  const assertions: Assertions = {};
  for (const condition of conditions) {
    const found = RULES.map((rule) => rule(condition.trim())).find((result) => result !== null);
    if (!found) remarks.push(`the condition ${condition} is not taken over`);
    else if (Object.keys(found).some((key) => key in assertions))
      remarks.push(`the condition ${condition} is not taken over: there is another one of its kind`);
    else Object.assign(assertions, found);
  }
  return Object.keys(assertions).length === 0 ? null : assertions;
}
