/** A section of CHANGELOG.md: `## Unreleased`, or `## 1.2.3 - 2026-12-01`. */
export interface ChangelogSection {
  readonly heading: string;
  /** Null for `Unreleased` and for a malformed heading. */
  readonly release: { readonly version: string; readonly date: string } | null;
  /** Without the heading and the blank lines around it. */
  readonly body: string;
}

/** The first section, which describes the version in the work tree. Null without any. */
export function readTopSection(changelog: string): ChangelogSection | null {
  const [, section] = `\n${changelog.replaceAll('\r\n', '\n')}`.split(/^## /m);
  if (section === undefined) return null;
  const [heading = '', ...lines] = section.split('\n');
  const [, version, date] = /^(\S+) - (\d{4}-\d{2}-\d{2})$/.exec(heading.trim()) ?? [];
  return {
    heading: heading.trim(),
    release: version !== undefined && date !== undefined && isDate(date) ? { version, date } : null,
    body: lines.join('\n').trim(),
  };
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
