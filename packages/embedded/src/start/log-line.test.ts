import { describe, expect, it } from '@jest/globals';
import { terminalLine } from './log-line.ts';

describe('terminalLine', () => {
  it.each([
    [{ level: 'info', message: 'Checked' }, null],
    [{ level: 'warn', message: 'Slow' }, 'warn: Slow'],
    [{ level: 'error', message: 'Lost', error: { message: 'gone\nmore' } }, 'error: Lost (gone)'],
    [
      { level: 'error', message: 'Lost', error: { message: '', code: 'ECONNREFUSED' } },
      'error: Lost (ECONNREFUSED)',
    ],
    [{ level: 'error', message: 'Lost', error: 'gone' }, 'error: Lost (gone)'],
  ])('of %j is %s', (record, expected) => {
    expect(terminalLine(JSON.stringify(record))).toBe(expected);
  });

  it('is what was said outside of the log, too', () => {
    expect(terminalLine('PORT must be right')).toBe('PORT must be right');
    expect(terminalLine('  ')).toBeNull();
  });
});
