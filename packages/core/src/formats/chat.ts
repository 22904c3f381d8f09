import { actionsOf, type Alert, factsOf, shorten, titleOf } from './alert.ts';

/** Slack accepts this many characters in a header block. */
const MAX_HEADER = 150;
/** Slack accepts 3,000 characters in a section. A runbook URL alone may have 2,048. */
const MAX_LINE = 3_000;

const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Formats a message for an incoming webhook of Slack. */
export function toSlack(alert: Alert): object {
  const title = titleOf(alert.payload);
  const links = actionsOf(alert).map(
    // A vertical bar would end the URL.
    ({ title, url }) => `<${escapeSlack(url.replaceAll('|', '%7C'))}|${title}>`,
  );
  return {
    text: escapeSlack(title),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: shorten(title, MAX_HEADER), emoji: false } },
      {
        type: 'section',
        fields: factsOf(alert).map(([name, value]) => ({
          type: 'mrkdwn',
          text: `*${name}*\n${escapeSlack(value)}`,
        })),
      },
      // Each link has its own section, so that none of them is cut.
      ...links
        .filter((text) => text.length <= MAX_LINE)
        .map((text) => ({ type: 'section', text: { type: 'mrkdwn', text } })),
    ],
  };
}

const COLORS = { UP: 'good', DOWN: 'attention', MAINTENANCE: 'accent' } as const;

/** Formats an Adaptive Card for a workflow of Teams that posts webhook requests. */
export function toTeams(alert: Alert): object {
  const { payload } = alert;
  const title = {
    type: 'TextRun',
    text: titleOf(payload),
    size: 'large',
    weight: 'bolder',
    color: COLORS[payload.status],
  };
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.5',
    body: [
      // A TextBlock would interpret the name as Markdown.
      { type: 'RichTextBlock', inlines: [title] },
      { type: 'FactSet', facts: factsOf(alert).map(([name, value]) => ({ title: name, value })) },
    ],
    actions: actionsOf(alert).map(({ title, url }) => ({ type: 'Action.OpenUrl', title, url })),
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content }] };
}
