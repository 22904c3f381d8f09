/** What the terminal shows of a line in a service's log: warnings, errors, and what is no log line; else null. */
export function terminalLine(line: string): string | null {
  if (line.trim() === '') return null;
  const record = parse(line);
  if (record === null) return line;
  const { level, message } = record;
  if (level !== 'warn' && level !== 'error') return null;
  const reason = errorMessage(record['error']);
  return `${level}: ${String(message)}${reason === null ? '' : ` (${reason})`}`;
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

function errorMessage(error: unknown): string | null {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null || !('message' in error)) return null;
  const message = String(error.message).split('\n')[0] ?? '';
  return message !== '' || !('code' in error) ? message : String(error.code);
}
