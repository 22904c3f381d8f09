import { describe, expect, test } from '@jest/globals';
import { CHANNEL_FORMATS } from '@tocsin/contracts/vocabulary';
import { array, assert, constantFrom, nat, property, record, string } from 'fast-check';
import { type Alert, sampleAlerts } from './alert.ts';
import { withRoutingKey } from './paging.ts';
import { createRenderer, previewBodies } from './render-body.ts';
import { alertmanagerSchema, pagerDutySchema, slackSchema, teamsSchema } from './testing/receiver-schemas.ts';
import { parseTemplate, TemplateError } from './template.ts';

const URL = 'https://tocsin.example';
const alerts = sampleAlerts(URL);
const [down] = alerts;
if (down === undefined) throw new Error('no samples');

/** An alert with the longest and most awkward texts that the API accepts. */
const awkward: Alert = {
  payload: {
    ...down.payload,
    monitorName: `<b>&|"\\\0\u001b${'😀'.repeat(120)}`,
    runbookUrl: `https://runbooks.example/?${'&|'.repeat(1_000)}`,
  },
  monitor: {
    labels: {
      'app.example.com/9-tier': 'x'.repeat(63),
      '1st': '',
      empty: '',
      ...Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`l${index}`, 'x'.repeat(63)])),
    },
  },
  incident: null,
  links: { monitor: null, incident: null },
};

describe.each([
  ['slack', slackSchema],
  ['teams', teamsSchema],
  ['pagerduty', pagerDutySchema],
  ['alertmanager', alertmanagerSchema],
] as const)('the format %s', (format, schema) => {
  const render = createRenderer({ format, template: null });

  test.each([...alerts, awkward, { ...awkward, incident: down.incident, links: down.links }])(
    'is valid for the receiver (%#)',
    (alert) => {
      expect(schema.safeParse(JSON.parse(render(alert))).error).toBeUndefined();
    },
  );
});

test('the standard format is the payload', () => {
  expect(createRenderer({ format: 'standard', template: null })(down)).toBe(JSON.stringify(down.payload));
});

describe('the format pagerduty', () => {
  const bodies = previewBodies({ format: 'pagerduty', template: null }, URL);

  test('triggers and resolves one alert for each monitor', () => {
    const actions = bodies.map(({ event, body }) => {
      const { event_action: action, dedup_key: key } = JSON.parse(body) as Record<string, string>;
      expect(key).toBe(down.payload.monitorId);
      return [event, action];
    });
    expect(Object.fromEntries(actions)).toEqual({
      'monitor.down': 'trigger',
      'incident.created': 'trigger',
      // If the alert were acknowledged, an event after the window would notify nobody.
      'monitor.maintenance': 'resolve',
      'monitor.up': 'resolve',
      'incident.resolved': 'resolve',
    });
  });

  test('gets the routing key only when it is sent', () => {
    const body = bodies[0]?.body ?? '';
    expect(body).toContain('"routing_key":"(secret)"');
    expect(JSON.parse(withRoutingKey(body, '$&"key'))).toMatchObject({ routing_key: '$&"key' });
  });
});

test('the format alertmanager ends the alert that it starts', () => {
  const events = previewBodies({ format: 'alertmanager', template: null }, URL).map(({ event, body }) => {
    const [alert] = JSON.parse(body) as [{ labels: object; startsAt: string; endsAt: string }];
    return { event, ...alert, isFiring: alert.endsAt > '2026-11-21' };
  });
  expect(new Set(events.map(({ labels }) => JSON.stringify(labels))).size).toBe(1);
  expect(new Set(events.map(({ startsAt }) => startsAt)).size).toBe(1);
  expect(events.filter(({ isFiring }) => isFiring).map(({ event }) => event)).toEqual([
    'monitor.down',
    'incident.created',
  ]);
});

test('the format alertmanager takes its severity from the labels of the monitor', () => {
  const labels = { severity: 'warning', alertname: 'other' };
  const body = createRenderer({ format: 'alertmanager', template: null })({ ...down, monitor: { labels } });
  expect(JSON.parse(body)).toMatchObject([
    { labels: { severity: 'warning', alertname: 'TocsinMonitorDown' } },
  ]);
});

describe('a template', () => {
  test('sees the payload, labels, the incident and links', () => {
    const template =
      '{"text": {{ monitorName | append: " " | append: status | json }}, "team": {{ monitor.labels.team | json }}, ' +
      '"incident": {{ incident.id | json }}, "link": {{ links.monitor | json }}, "missing": {{ nothing.here | json }}}';
    expect(JSON.parse(parseTemplate(template)(down))).toEqual({
      text: 'Shop "checkout" DOWN',
      team: 'checkout',
      incident: down.incident?.id,
      link: down.links.monitor,
      missing: null,
    });
  });

  test.each([
    ['{"a": {% if status %}', 'line 1, column 7: '],
    ['{\n  "a": {{ status | nope }}}', 'line 2, column 8: undefined filter: nope'],
    ['{% include "/etc/passwd" %}', 'line 1, column 1: tag "include" not found'],
    ['{% render "a" %}', 'tag "render" not found'],
    ['{% layout "a" %}', 'tag "layout" not found'],
    ['{"name": "{{ monitorName }}"}', 'the result is not JSON, at line 1, column'],
    ['', 'the result is not JSON, at line 1, column 1'],
    ['{% for i in (1..100000000) %}{% endfor %}1', 'line 1, column 1: memory alloc limit exceeded'],
    ['{% for i in (1..3000) %}{% assign a = i %}{% endfor %}1', 'runs more than 1000 tags, outputs, filters'],
    ['{% assign b = (1..60000) %}{% if b contains "x" %}{% endif %}1', 'runs more than 1000 tags'],
    [`{% for i in (1..9) %}{{ i ${'| plus: 1'.repeat(200)} }}{% endfor %}`, 'runs more than 1000 tags'],
    [`{% for i in (1..400) %}${'x'.repeat(200)}{% endfor %}`, 'renders more than 65536 bytes'],
    [
      '{% assign a = "1111111111111111" %}' +
        '{% assign a = a | append: a %}'.repeat(9) +
        '{% for i in (1..40) %}{% assign b = a | times: a %}{% endfor %}1',
      'runs more than 1000 tags',
    ],
    [
      `{% for i in (1..9) %}{% assign b = timestamp | date: "${'%c'.repeat(100)}" %}{% endfor %}1`,
      'runs more than 1000 tags',
    ],
    ['{% capture a %}x{% endcapture %}1', 'tag "capture" not found'],
    ['{% assign b = "" | split: "," %}{% assign b = b | push: b %}1', 'undefined filter: push'],
    [
      '{% assign a = "xxxxxxxxxxxxxxxx" %}' + '{% assign a = a | append: a %}'.repeat(30),
      'memory alloc limit exceeded',
    ],
  ])('%j is refused', (template, message) => {
    const preview = (): unknown => previewBodies({ format: 'custom', template }, URL);
    expect(preview).toThrow(TemplateError);
    expect(preview).toThrow(message);
  });

  test('reaches nothing of JavaScript', () => {
    const template =
      '[{{ monitor.constructor | json }}, {{ monitor.__proto__ | json }}, {{ status.constructor | json }}]';
    expect(JSON.parse(parseTemplate(template)(down))).toEqual([null, null, null]);
  });

  const piece = constantFrom(
    '{"a": ',
    '}',
    '[',
    ']',
    ',',
    '1',
    '"x"',
    '{{ status | json }}',
    '{{ monitorName | json }}',
    '{{ monitorName }}',
    '{% if incident %}',
    '{% endif %}',
    '{% for l in monitor.labels %}',
    '{% endfor %}',
    '{{ l | json }}',
    '{{',
    '%}',
  );
  const payload = record({ monitorName: string({ unit: 'grapheme' }), latency: nat() });

  test('renders JSON for every payload, or fails with a reason', () => {
    const formats = constantFrom(...CHANNEL_FORMATS);
    assert(
      property(formats, array(piece, { maxLength: 12 }), payload, (format, pieces, fields) => {
        const alert = { ...awkward, payload: { ...awkward.payload, ...fields } };
        try {
          const body = createRenderer({ format, template: pieces.join('') })(alert);
          expect(() => JSON.parse(body) as unknown).not.toThrow();
        } catch (error) {
          expect(error).toBeInstanceOf(TemplateError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
