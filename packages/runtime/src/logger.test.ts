import { describe, expect, it } from '@jest/globals';
import type { Logger } from './logger.ts';
import { captureLog } from './testing/captured-log.ts';

const KEY = `tocsin_live_${'0a'.repeat(24)}`;
const TOKEN = `tocsin_agent_${'0a'.repeat(24)}`;

function capture(options: Parameters<typeof captureLog>[0] = {}): { logger: Logger; lines: () => string[] } {
  const { logger, text } = captureLog(options);
  return {
    logger,
    lines: () =>
      text()
        .split('\n')
        .filter((line) => line !== ''),
  };
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

  it.each(['json', 'pretty'] as const)('hides secrets at every depth (%s)', (format) => {
    const { logger, lines } = capture({ format });
    const secrets = { Authorization: 'Bearer s3cret', password: 's3cret', apiKey: 's3cret', body: 's3cret' };
    logger.info(`key ${KEY}`, {
      deep: [{ secrets, headers: { 'X-Token': 's3cret' }, note: `${KEY} ${TOKEN} whsec_s3cret==` }],
      error: new Error(`connect redis://user:s3cret@host/0 with ${KEY}`),
    });
    const text = lines().join('\n');
    expect(text).not.toMatch(/s3cret|0a0a/);
    expect(text).toMatch(/X-Token/);
    expect(text).toMatch(/redis:\/\/user:\[redacted\]@host\/0/);
  });

  it.each(['json', 'pretty'] as const)('hides what errors of libraries repeat (%s)', (format) => {
    const { logger, lines } = capture({ format });
    const query = Object.assign(
      new Error('Failed query: insert into t values ($1)\nparams: s3cret\ns3cret,1'),
      {
        query: 'insert into t values ($1)',
        params: ['s3cret', 1],
        cause: Object.assign(new Error('null value in column "id"'), {
          code: '23502',
          detail: 'Failing row contains (null, s3cret).',
          where: 'COPY t, line 1: "s3cret"',
        }),
      },
    );
    const command = Object.assign(new Error('WRONGPASS invalid username-password pair'), {
      command: { name: 'auth', args: ['s3cret'] },
    });
    const idle = Object.assign(new Error('terminating connection'), {
      client: { processID: 1, secretKey: 's3cret', connection: { stream: 's3cret' } },
    });
    const url = Object.assign(new TypeError('Invalid URL'), {
      input: 'postgres://u:s3cret/with#all@host/db',
    });
    logger.error('Failed', { query, command, idle, url, all: [query, command] });
    const text = lines().join('\n');
    expect(text).not.toContain('s3cret');
    expect(text).toContain('Failed query: insert into t values ($1)');
    expect(text).toContain('23502');
    expect(text).toContain('auth');
  });

  it.each(['json', 'pretty'] as const)('hides the given secrets in any text (%s)', (format) => {
    const { logger, lines } = capture({ format, secrets: ['p@ss/w(rd', 'short'] });
    logger.warn('of p@ss/w(rd', { note: 'x=p%40ss%2Fw(rd', error: new Error('p@ss/w(rd is wrong; short') });
    expect(lines().join('\n')).not.toMatch(/w\(rd/);
    expect(lines().join('\n')).toContain('short');
  });

  it('logs cycles and values that JSON does not support', () => {
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
