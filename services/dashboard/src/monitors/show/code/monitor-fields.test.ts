import { expect, test } from '@jest/globals';
import { headerVariables } from './monitor-fields.ts';

const variablesOf = (name: string, ...headers: string[]): string[] => [
  ...headerVariables({
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    name,
    headers: Object.fromEntries(headers.map((header) => [header, 'x'])),
  }).values(),
];

test('a variable has the names of the monitor and the header', () => {
  expect(variablesOf('Checkout API', 'Authorization', 'X-Api-Key')).toEqual([
    'TOCSIN_SECRET_CHECKOUT_API_AUTHORIZATION_099A8057',
    'TOCSIN_SECRET_CHECKOUT_API_X_API_KEY_099A8057',
  ]);
});

test('monitors with equal names get different variables', () => {
  const headers = { 'X-Key': 'x' };
  const [one, other] = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac96-774b-bcce-b302099a8058'].map(
    (id) => headerVariables({ id, name: 'a', headers }).get('X-Key'),
  );
  expect(one).not.toBe(other);
});

test('headers with similar names get different variables', () => {
  expect(variablesOf('a', 'x-key', 'x.key', 'x_key')).toEqual([
    'TOCSIN_SECRET_A_X_KEY_099A8057',
    'TOCSIN_SECRET_A_X_KEY_099A8057_2',
    'TOCSIN_SECRET_A_X_KEY_099A8057_3',
  ]);
});

test('every name is valid in a shell', () => {
  for (const name of ['🔔', '監視', '3 in the morning', '', "it's; rm -rf", 'Ünïcode', 'x'.repeat(255)])
    for (const variable of variablesOf(name, '!#$', 'Authorization'))
      expect(variable).toMatch(/^TOCSIN_SECRET_[A-Z0-9_]+$/);
  expect(variablesOf('Ünïcode', 'Key')).toEqual(['TOCSIN_SECRET_UNICODE_KEY_099A8057']);
});

test('no monitor gets a variable that has another meaning', () => {
  expect(variablesOf('AWS Secret', 'Access-Key')).toEqual(['TOCSIN_SECRET_AWS_SECRET_ACCESS_KEY_099A8057']);
  expect(variablesOf('Tocsin API', 'Key')).toEqual(['TOCSIN_SECRET_TOCSIN_API_KEY_099A8057']);
});

test('a monitor without headers has no variables', () => {
  expect(headerVariables({ id: '01890a5d-ac96-774b-bcce-b302099a8057', name: 'a', headers: null }).size).toBe(
    0,
  );
});
