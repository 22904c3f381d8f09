import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { crdYaml } from './definitions.ts';

test('the chart has the CustomResourceDefinitions that follow from the schemas of the API', () => {
  const file = new URL('../../../../infra/helm/tocsin/files/crds.yaml', import.meta.url);
  // If this fails, run `pnpm --filter @tocsin/distribution generate:crds` after a build.
  expect(readFileSync(file, 'utf8')).toBe(crdYaml());
});
