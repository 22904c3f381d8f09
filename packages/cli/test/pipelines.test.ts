import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openTestApi, type TestApi } from '@tocsin/api/testing/test-api';
import { parse } from 'yaml';
import { folderWith, runIn } from './fake-terminal.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const FILE =
  'source: repository\nmonitors: [{ externalId: a, name: A, url: "https://a.example", labels: { app: shop } }]\n';

/** The arguments of each `tocsin` command, including those in comments. */
function commandsOf(text: string): Map<string, string[]> {
  const commands = [...text.matchAll(/^[ #-]*(?:run: )?tocsin ([^>\n]+)/gm)].map(([, line = '']) =>
    line.trim().split(' '),
  );
  return new Map(commands.map((args) => [args[0] ?? '', args]));
}

test.each(['examples/github-actions.yml', 'examples/gitlab-ci.yml'])(
  'the commands of %s work with the keys that it asks for',
  async (path) => {
    const text = readFileSync(path, 'utf8');
    parse(text, { uniqueKeys: true });
    const commands = commandsOf(text);
    expect([...commands.keys()]).toEqual(['validate', 'diff', 'apply', 'maintain', 'trigger']);
    const folder = await folderWith({ 'monitors/a.yaml': FILE });
    const { key } = await api.newKey('read,write', null, ['repository']);
    const run = async (name: string, apiKey: string): Promise<number> => {
      const words = commands.get(name) ?? [];
      // Without the command that maintain runs.
      const args = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
      const env = { TOCSIN_URL: `http://127.0.0.1:${api.port}`, TOCSIN_API_KEY: apiKey };
      return (await runIn(folder, args, env)).code;
    };
    await api.database.pool.query('delete from monitors');
    expect((await runIn(folder, commands.get('validate') ?? [])).code).toBe(0);
    expect(await run('diff', api.account.readKey)).toBe(2);
    expect(await run('apply', key)).toBe(0);
    expect(await run('diff', api.account.readKey)).toBe(0);
    expect(await run('maintain', key)).toBe(0);
    await api.database.pool.query('delete from monitors');
    // No monitor has the label.
    expect(await run('trigger', key)).toBe(1);
  },
);
