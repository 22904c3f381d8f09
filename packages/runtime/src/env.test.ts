import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { address, flag, list, parseEnv, port, secretKeys, SettingsError, url, wholeNumber } from './env.ts';

const schema = z.object({
  PORT: port().default(3000),
  SIZE: wholeNumber(1, 100).default(10),
  STORE: url(['redis', 'rediss']).meta({ secret: true }),
  NAMES: list('names', /^[a-z]+$/).optional(),
});

function failure(source: Record<string, string>): string {
  try {
    parseEnv(schema, source);
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
  throw new Error('expected a SettingsError');
}

describe('parseEnv', () => {
  it('reads variables, applies defaults and ignores other variables', () => {
    const env = parseEnv(schema, { PORT: ' 8080 ', STORE: 'redis://r:6379', NAMES: 'a, b,', OTHER: 'x' });
    expect(env).toEqual({ PORT: 8080, SIZE: 10, STORE: 'redis://r:6379', NAMES: ['a', 'b'] });
  });

  it('counts an empty string as unset', () => {
    const blank = { PORT: '', SIZE: ' ', STORE: 'redis://r' };
    expect(parseEnv(schema, blank)).toMatchObject({ PORT: 3000, SIZE: 10 });
    expect(failure({ STORE: '' })).toBe(
      'STORE is not set: it must be a URL that starts with redis:// or rediss://',
    );
  });

  it('reports one line per invalid variable, with name, rule and value', () => {
    expect(failure({ PORT: '70000', SIZE: 'many', STORE: 'redis://r' }).split('\n')).toEqual([
      'PORT must be a whole number from 0 to 65535, not "70000"',
      'SIZE must be a whole number from 1 to 100, not "many"',
    ]);
  });

  it('does not show a secret, even an optional one', () => {
    const message = 'STORE must be a URL that starts with redis:// or rediss://';
    expect(failure({ STORE: 'hunter2' })).toBe(message);
    expect(() => parseEnv(schema.partial({ STORE: true }), { STORE: 'hunter2' })).toThrow(message);
    expect(() => parseEnv(schema.partial({ STORE: true }), { STORE: 'hunter2' })).not.toThrow(/hunter2/);
  });
});

describe('fields', () => {
  it('accept whole numbers as a port, where 0 means any free port', () => {
    const texts = ['0', '65535', '1e3', '-1', '1.5', '0x10', '65536', 'NaN'];
    expect(texts.filter((text) => port().safeParse(text).success)).toEqual(['0', '65535']);
  });

  it('take IP addresses as an address, and nothing else', () => {
    const valid = ['127.0.0.1', '0.0.0.0', '::', '2001:db8::1'];
    const texts = [...valid, 'localhost', '127.0.0', '127.0.0.1:80', '[::1]', '*'];
    expect(texts.filter((text) => address().safeParse(text).success)).toEqual(valid);
  });

  it('take only true and false as a flag', () => {
    expect(['true', 'false'].map((value) => flag().parse(value))).toEqual([true, false]);
    for (const value of ['1', 'yes', 'TRUE', '']) expect(flag().safeParse(value).success).toBe(false);
  });

  it('take one or several keys of 32 bytes', () => {
    const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    expect(secretKeys().parse(`${one.toString('base64')}, ${two.toString('base64')}`)).toEqual([one, two]);
    expect(secretKeys().safeParse(Buffer.alloc(31).toString('base64')).success).toBe(false);
    expect(secretKeys().safeParse(`${one.toString('base64')},short`).success).toBe(false);
    expect(secretKeys().safeParse(' , ').success).toBe(false);
  });
});
