import { expect, test } from '@jest/globals';
import { monitorYaml } from './monitor-yaml.ts';
import { monitorWith, NASTY } from './testing.ts';
import { yamlText } from './yaml.ts';

test('only what differs from the defaults is written', () => {
  expect(monitorYaml(monitorWith())).toBe(
    ['monitors:', '  - name: Checkout', '    url: https://shop.example.com/health', ''].join('\n'),
  );
});

test('every field that was set is written, and values of headers are not', () => {
  const monitor = monitorWith({
    name: 'Checkout: EU',
    url: 'https://shop.example.com/health#top',
    interval: 30,
    timeout: 5,
    method: 'POST',
    headers: { Authorization: 'Bearer s3cret', no: 'hidden' },
    body: '{"ping": true}\n{"pong": "it\'s"}\n',
    assertions: { statusCode: 204, bodyContains: 'ok' },
    failureThreshold: 3,
    regions: ['eu-1', 'us-1'],
    runbookUrl: 'https://wiki.example.com/checkout',
    externalId: '42',
    source: 'shop',
  });
  expect(monitorYaml(monitor)).toBe(
    `
monitors:
  - name: 'Checkout: EU'
    url: 'https://shop.example.com/health#top'
    interval: 30
    timeout: 5
    method: POST
    headers:
      Authorization: \${CHECKOUT_EU_AUTHORIZATION}
      'no': \${CHECKOUT_EU_NO}
    body: |
      {"ping": true}
      {"pong": "it's"}
    assertions:
      statusCode: 204
      bodyContains: ok
    failureThreshold: 3
    regions:
      - eu-1
      - us-1
    runbookUrl: https://wiki.example.com/checkout
    externalId: '42'
    source: shop
`.trimStart(),
  );
});

test.each([
  ['ok', 'ok'],
  ['shop/eu 1.2', 'shop/eu 1.2'],
  ["it's", "'it''s'"],
  ['yes', "'yes'"],
  ['NULL', "'NULL'"],
  ['42', "'42'"],
  ['1:30', "'1:30'"],
  ['- item', "'- item'"],
  ['a: b', "'a: b'"],
  ['a #b', "'a #b'"],
  [' a', "' a'"],
  ['', "''"],
  ['tab\there', String.raw`"tab\there"`],
  ['a\r\nb', String.raw`"a\r\nb"`],
  ['  a\nb', String.raw`"  a\nb"`],
  ['a\n\n\n', String.raw`"a\n\n\n"`],
  ['a\n   \nb', String.raw`"a\n   \nb"`],
  ['\u0001\u007f\u0085\u2028\ufeff', String.raw`"\u0001\u007f\u0085\u2028\ufeff"`],
  ['🔔', "'🔔'"],
])('%j is written %s', (text, yaml) => {
  expect(yamlText(text)).toBe(yaml);
});

test.each(NASTY)('no value breaks out of its place: %j', (text) => {
  const yaml = monitorYaml(monitorWith({ name: text, body: text, externalId: text }));
  // Every line is the head of the list, one of the fields, or more indented than they are.
  expect(yaml).toMatch(/^monitors:\n( {2}- name: |( {4}(url|body|externalId): )|( {6})|\n).*/);
  for (const line of yaml.split('\n').slice(1))
    expect(line).toMatch(/^( {2}- name: | {4}(url|body|externalId): | {6}|$)/);
});
