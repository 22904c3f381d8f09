import { problemsOf, type Findings } from './findings.ts';

/** The results of a test of a rollout: rows of a table, and problems, each of which fails it. */
export class Results {
  readonly rows: [string, string][] = [];
  readonly problems: string[] = [];

  add(what: string, result: string): void {
    this.rows.push([what, result]);
  }

  /** @param maxMissedShare see `problemsOf` */
  addFindings(name: string, findings: Findings, maxMissedShare?: number): void {
    const { slots, missed, repeated, latestMs, falseDown, webhooks, repeatedWebhooks, lost } = findings;
    this.add(
      `${name}: time under load, latest check`,
      `${seconds(findings.seconds * 1_000)}, ${seconds(latestMs)}`,
    );
    this.add(
      `${name}: check slots; missed; recorded twice; false DOWN`,
      list(slots, missed, repeated, falseDown),
    );
    this.add(`${name}: webhooks so far; repeated; lost`, list(webhooks, repeatedWebhooks, lost));
    this.problems.push(...problemsOf(findings, maxMissedShare).map((problem) => `${name}: ${problem}`));
  }

  /** A table in Markdown, and a line for each problem. */
  toString(): string {
    const rows = [['what', 'result'], ['---', '---'], ...this.rows].map(
      (cells) => `| ${cells.join(' | ')} |`,
    );
    return [...rows, ...this.problems.map((problem) => `PROBLEM: ${problem}`)].join('\n');
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function list(...numbers: number[]): string {
  return numbers.map((number) => number.toLocaleString('en-US')).join('; ');
}
