import { expect, test } from '@jest/globals';
import { probeJob } from './blackbox.ts';

test('probeJob passes each URL to blackbox_exporter as a parameter', () => {
  expect(probeJob('127.0.0.1:9115', ['http://127.0.0.1:80/m/0'], 5)).toMatchObject({
    scrape_interval: '5s',
    static_configs: [{ targets: ['http://127.0.0.1:80/m/0'] }],
    relabel_configs: [
      { source_labels: ['__address__'], target_label: '__param_target' },
      { source_labels: ['__param_target'], target_label: 'instance' },
      { target_label: '__address__', replacement: '127.0.0.1:9115' },
    ],
  });
});
