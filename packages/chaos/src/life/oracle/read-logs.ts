import { readFile } from 'node:fs/promises';

/** What services wrote that somebody should look at. */
export interface LogTally {
  /** Lines of level `error`, and what is no line of theirs, such as a crash of Node. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** @param files one that is not there has no lines */
export async function readLogs(files: Iterable<string>): Promise<LogTally> {
  const errors: string[] = [];
  const warnings: string[] = [];
  for (const file of new Set(files)) {
    const text = await readFile(file, 'utf8').catch(() => '');
    for (const line of text.split('\n').filter((one) => one !== '')) {
      const level = levelOf(line);
      if (level === 'warn') warnings.push(line);
      else if (level !== 'info' && level !== 'debug') errors.push(line);
    }
  }
  return { errors, warnings };
}

/** Null for what is no line of a service's log. */
function levelOf(line: string): string | null {
  try {
    return String((JSON.parse(line) as { level?: unknown }).level);
  } catch {
    return null;
  }
}
