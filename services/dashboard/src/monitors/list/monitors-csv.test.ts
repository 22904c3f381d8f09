import { expect, test } from '@jest/globals';
import { overviewWith } from '../testing/records.ts';
import { monitorsToCsv } from './monitors-csv.ts';

test('the file has the monitors in the order of the list, and no formulas', () => {
  const shop = overviewWith({
    id: 'shop',
    name: '=HYPERLINK("https://evil.example")',
    labels: { team: 'a', app: 'shop' },
    status: 'DOWN',
    errorDetail: 'expected status 200, got 503',
    regions: ['eu', 'us'],
  });
  const blog = overviewWith({ id: 'blog', name: 'Blog', externalId: 'blog' });
  const latencies = [{ monitorId: 'shop', p95: 120, p99: 340 }];
  const csv = monitorsToCsv(['shop', 'gone', 'blog'], [blog, shop], latencies, 'home');
  const [header, first, second, ...rest] = csv.split('\r\n');
  expect(header).toBe(
    'id,name,url,status,statusSince,cause,acknowledgedBy,labels,regions,interval,lastCheckedAt,certificateExpiresAt,p95,p99,externalId,source',
  );
  expect(first).toMatch(/^shop,"'=HYPERLINK\(""https:\/\/evil.example""\)",https/);
  expect(first).toMatch(/,"Expected status 200, got 503",,"app=shop,team=a","eu,us",60,,,120,340,,$/);
  expect(second).toMatch(/^blog,Blog,.*,UP,.*,,,,home,60,,,,,blog,$/);
  expect(rest).toEqual(['']);
});
