import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { Problem } from '../desired/problem.ts';
import { resolveValues, withValueSources } from './value-sources.ts';

const read = async ({ name, key }: { name: string; key: string }): Promise<string> => `${name}/${key}`;
const from = (key: string) => ({ valueFrom: { secretKeyRef: { name: 'tls', key } } });

test('secret fields of the API have values or references to Secrets, at any depth', async () => {
  const tls = z.strictObject({ key: z.string().optional(), verify: z.boolean().optional() });
  const api = { headers: z.record(z.string(), z.string()).nullable(), tls: tls.nullable().default(null) };
  const schema = z.strictObject(withValueSources({ ...api, routingKey: z.string(), name: z.string() }));
  const spec = {
    name: 'x',
    routingKey: { value: 'r' },
    tls: { key: from('tls.key'), verify: false },
    headers: [
      { name: 'A', value: 'a' },
      { name: 'B', ...from('b') },
    ],
  };
  expect(schema.parse(spec)).toEqual(spec);
  expect(schema.safeParse({ routingKey: 'r' }).success).toBe(false);
  expect(await resolveValues(spec, read)).toEqual({
    name: 'x',
    routingKey: 'r',
    tls: { key: 'tls/tls.key', verify: false },
    headers: { A: 'a', B: 'tls/b' },
  });
});

test('other fields with the same words are left as they are', async () => {
  const spec = { tls: null, labels: { value: 'a' }, assertions: { headers: [{ name: 'A', exists: true }] } };
  expect(await resolveValues(spec, read)).toEqual(spec);
  await expect(resolveValues({ tls: { key: {} } }, read)).rejects.toThrow(
    new Problem('Invalid', 'tls.key: set either value or valueFrom'),
  );
});
