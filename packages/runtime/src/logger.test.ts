import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from './logger.ts';
import type { Logger } from './logger.ts';

const KEY = `tocsin_live_${'0a'.repeat(24)}`;

function capture(format: 'json' | 'pretty' = 'json'): { logger: Logger; lines: () => string[] } {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  const logger = createLogger({ service: 'test', level: 'info', format, stream });
  return { logger, lines: () => text.split('\n').filter((line) => line !== '') };
}

describe('createLogger', () => {
  it('writes one JSON line per message, at its level or above', () => {
    const { logger, lines } = capture();
    logger.info('Checked', { monitorId: 'm1', count: 2 });
    logger.child({ region: 'eu' }).warn('Slow');
    logger.debug('Hidden');
    expect(lines().map((line) => JSON.parse(line))).toEqual([
      {
        time: expect.any(String),
        level: 'info',
        service: 'test',
        message: 'Checked',
        monitorId: 'm1',
        count: 2,
      },
      { time: expect.any(String), level: 'warn', service: 'test', message: 'Slow', region: 'eu' },
    ]);
  });

  it('writes errors with stack, code and cause', () => {
    const { logger, lines } = capture();
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    logger.error('Failed', { error: new Error('no store', { cause }) });
    expect(JSON.parse(lines()[0] ?? '')).toMatchObject({
      error: {
        message: 'no store',
        stack: expect.stringContaining('logger.test'),
        cause: { code: 'ECONNREFUSED', message: 'refused', stack: expect.any(String) },
      },
    });
  });

  it.each(['json', 'pretty'] as const)('hides secrets wherever they are (%s)', (format) => {
    const { logger, lines } = capture(format);
    const secrets = { Authorization: 'Bearer s3cret', password: 's3cret', apiKey: 's3cret', body: 's3cret' };
    logger.info(`key ${KEY}`, {
      deep: [{ secrets, headers: { 'X-Token': 's3cret' }, note: `${KEY} whsec_s3cret==` }],
      error: new Error(`connect redis://user:s3cret@host/0 with ${KEY}`),
    });
    const text = lines().join('\n');
    expect(text).not.toMatch(/s3cret|0a0a/);
    expect(text).toMatch(/X-Token/);
    expect(text).toMatch(/redis:\/\/user:\[redacted\]@host\/0/);
  });

  it('survives cycles, and values that JSON does not know', () => {
    const { logger, lines } = capture();
    const node: Record<string, unknown> = { size: 10n, at: new Date(0), bytes: Buffer.from('s3cret') };
    node['self'] = node;
    logger.info('Odd', { node, bad: new Date(Number.NaN) });
    expect(JSON.parse(lines()[0] ?? '')).toMatchObject({
      node: { size: '10', at: '1970-01-01T00:00:00.000Z', bytes: '[6 bytes]', self: '[circular]' },
      bad: 'Invalid Date',
    });
  });
});
