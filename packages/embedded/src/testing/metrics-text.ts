export interface Sample {
  /** Name of the series. Series of a histogram end with `_bucket`, `_sum` or `_count`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`, 's');
const HELP = new RegExp(`^# HELP (${NAME}) .+$`);
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary|untyped)$`);
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(?:,|$)/y;

/**
 * Parses the Prometheus text format 0.0.4 strictly.
 * @throws Error for a malformed line, a repeated series, or a metric whose lines are not contiguous
 */
export function parseMetrics(text: string): Sample[] {
  if (text !== '' && !text.endsWith('\n')) throw new Error('The last line does not end with a line feed');
  const types = new Map<string, string>();
  const series = new Set<string>();
  let current = '';
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      const help = HELP.exec(line)?.[1];
      const [, typed, type = ''] = TYPE.exec(line) ?? [];
      if (help !== undefined || typed !== undefined) {
        current = help ?? typed ?? '';
        if (typed === undefined) return [];
        if (types.has(typed)) throw new Error(`A second type: ${line}`);
        types.set(typed, type);
        return [];
      }
      const sample = parseSample(line);
      const isOfHistogram = types.get(current) === 'histogram';
      const metric = isOfHistogram ? sample.name.replace(/_(?:bucket|sum|count)$/, '') : sample.name;
      if (metric !== current || !types.has(metric)) throw new Error(`Not with its metric: ${line}`);
      const key = line.slice(0, line.lastIndexOf(' '));
      if (series.has(key)) throw new Error(`A repeated series: ${line}`);
      series.add(key);
      return [sample];
    });
}

function parseSample(line: string): Sample {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  const number = value === '+Inf' ? Infinity : Number(value);
  if (name === '' || value === '' || Number.isNaN(number)) throw new Error(`A malformed line: ${line}`);
  return { name, labels: parseLabels(labels), value: number };
}

function parseLabels(text: string): Record<string, string> {
  const labels: [string, string][] = [];
  LABEL.lastIndex = 0;
  for (let end = 0; end < text.length; end = LABEL.lastIndex) {
    const [, name = '', value = ''] = LABEL.exec(text) ?? [];
    if (name === '') throw new Error(`Malformed labels: ${text}`);
    labels.push([
      name,
      value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    ]);
  }
  if (new Set(labels.map(([name]) => name)).size < labels.length)
    throw new Error(`A repeated label: ${text}`);
  return Object.fromEntries(labels);
}
