import { type Row, summarize } from './row.ts';

/** One line of the table that people read. */
export function line(row: Row): string {
  const { median, min, max } = summarize(row.values);
  const format = (value: number): string => (row.unit === 'bytes' ? String(value) : value.toFixed(2));
  const spread = row.values.length > 1 ? `${format(min)}–${format(max)}` : '';
  return `| ${row.name} | ${format(median)}${row.unit === 'ratio' ? '' : ` ${row.unit}`} | ${spread} | ${row.values.length} | ${goal(row)} |`;
}

export const HEAD = '| row | median | min–max | rounds | goal |\n|---|---|---|---|---|';

function goal(row: Row): string {
  if (row.goal === undefined) return '';
  const { median } = summarize(row.values);
  if ('atLeast' in row.goal) return `≥ ${row.goal.atLeast}: ${median >= row.goal.atLeast ? 'met' : 'missed'}`;
  return `≤ ${row.goal.atMost}: ${median <= row.goal.atMost ? 'met' : 'missed'}`;
}
