import { expect, test } from '@jest/globals';
import { folderWith, runIn } from './fake-terminal.ts';

const VALID = `source: shop
defaults: { headers: { Authorization: "Bearer \${TOKEN}" } }
monitors:
  - { externalId: "\${A}", name: "\${NAME}", url: "\${URL}/x", method: "\${METHOD}" }
  - { externalId: "\${B}", name: b, url: "https://\${HOST}:\${PORT}/", labels: { app: "\${NAME}" } }
`;

test('validate needs no server, and lists unset variables', async () => {
  const folder = await folderWith({ 'tocsin.yaml': VALID });
  const ran = await runIn(folder, ['validate'], { HOST: 'shop.example' });
  expect([ran.code, ran.out]).toEqual([0, 'Valid. Files: 1, sources: 1, monitors: 2.']);
  const [title, ...lines] = ran.err.split('\n');
  expect(title).toBe('Variables that apply needs:');
  expect(lines.map((line) => / variable (\w+) is not set/.exec(line)?.[1])).toEqual([
    'TOKEN',
    'A',
    'NAME',
    'URL',
    'METHOD',
    'B',
    'PORT',
  ]);
  expect(ran.err).toContain('  tocsin.yaml:4:27: the environment variable NAME is not set');
  expect(ran.err).toMatch(/NAME is not set; .*; also used at tocsin\.yaml:5:79$/m);
});

test('validate reports the errors of all files, whether they are named as arguments or with -f', async () => {
  const monitor = (key: string): string => `{ externalId: ${key}, name: n, url: "https://n.example" }`;
  const folder = await folderWith({
    'a/one.yaml': `source: a\nmonitors: [${monitor('same')}]\n`,
    'b.yaml': `source: b\nmonitors: [${monitor('same')}, { externalId: b, name: b, url: "ftp://b" }]\n`,
    'c.yaml': 'source: [',
  });
  const ran = await runIn(folder, ['validate', 'a', 'b.yaml', '-f', 'c.yaml']);
  expect([ran.code, ran.out, ran.err.split('\n').map((line) => line.split(' must ')[0])]).toEqual([
    1,
    '',
    [
      'tocsin: 3 errors in the files:',
      '  b.yaml:2:95: url',
      '  c.yaml:1:10: the indentation is wrong, or a closing bracket is missing',
      '  b.yaml:2:14: externalId "same" is already used at a/one.yaml:2:14',
    ],
  ]);
});

test('validate reads standard input', async () => {
  expect(await runIn('/', ['validate', '-'], { TOKEN: 't', A: 'a', B: 'b' }, null, VALID)).toMatchObject({
    code: 0,
  });
});

test('--version and -V print the version of the package', async () => {
  for (const flag of ['--version', '-V']) {
    const ran = await runIn('/', [flag]);
    expect([ran.code, ran.out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
  }
});
