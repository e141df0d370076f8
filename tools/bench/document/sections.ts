import type { Circumstances, Machine } from '../machine.ts';
import { HEAD, line } from '../report.ts';
import { met, type Row, summarize } from '../row.ts';

export const introduction = (): string => `# Performance

This page compares localtext's speed and memory with what a page would use otherwise. In each row both sides run alternately. The table gives the median of the pairwise
ratios, so that drift of the machine cancels out.

\`\`\`sh
npm run bench
npm run bench -- --row decode --rounds 10
npm run bench -- --write
\`\`\`

The last command writes this page and its plots from the measurements.`;

/** The bench alone keeps a processor or two busy. */
const BUSY =
  '\n\n**Other work shared the machine: single figures are unreliable, and differences of milliseconds mean nothing.**';

export function machine(of: Machine, measured: Circumstances[]): string {
  const distinct = (values: string[]): string => [...new Set(values)].toSorted().join(', ');
  const loads = measured.map(({ load }) => load);
  return `## The machine

${of.processor}, ${of.cores} logical processors, ${(of.memoryBytes / 2 ** 30).toFixed(0)} GiB of memory; ${of.system}; ${of.browser}, headless,
without a GPU; Node ${of.node}. Measured on ${distinct(measured.map(({ at }) => at.slice(0, 10)))}, of commit ${distinct(measured.map(({ commit }) => commit))}.
Load average at the start of a row: ${Math.min(...loads)} to ${Math.max(...loads)} (includes the previous row). The models are SmolLM2-135M-Instruct in Q4_1 and all-MiniLM-L6-v2 in f32.${Math.max(...loads) > 2 * of.cores ? BUSY : ''}`;
}

export const table = (rows: Row[]): string => `## The rows

${HEAD}
${rows.map(line).join('\n')}`;

/** Note on rows that were not measured; empty if all were. */
export const unmeasured = (webLlm: boolean): string =>
  webLlm
    ? ''
    : `Not measured here, because the machine has no GPU: decode on WebGPU through the SDK and /v1 ÷ web-llm's own engine (goal ≥ 0.98); see below.`;

/** Measured by hand on another machine. */
export const gpu = (): string => `## On a GPU

On an NVIDIA H200 (driver 580.159.04, 16 logical processors, Chromium 156, 2026-11-26), through /v1: decode by web-llm ÷ its own engine 0.99
(0.93–1.03; goal ≥ 0.98), first token − its own 7 ms (2–8; goal ≤ 10), with SmolLM2-135M in q4f16_1. WebGPU ÷ WASM: embeddings of 256 texts of 3 to
300 tokens 7.5 (6.8–7.9), of 32 short ones 3.4 (2.7–3.9). By llama.cpp with SmolLM2-135M: prefill of 2,000 tokens 2.2 (2.1–2.9), decode 0.31
(0.29–0.32); with Qwen2.5 0.5B on four of the processors: 13.6 and 3.5. [What a GPU is used for](decisions/gpu.md) has more figures and the conclusions.
\`npm run bench -- --gpu\` measures it on your machine; for web-llm set \`MLC_MODEL\` and \`MLC_LIBRARY\`: the URLs of a folder with
\`mlc-chat-config.json\`, and of that model's WASM library.`;

export function missed(named: { name: string; row: Row }[], bounds: Record<string, string>): string {
  const rows = named.filter(({ row }) => met(row) === false);
  const said = rows.map(
    ({ name, row }) =>
      `- **${row.name}**: ${medianOf(row)}. ${bounds[name] ?? 'Unexplained. The spread between rounds exceeds the gap; it may also be a defect.'}`,
  );
  return `## Missed goals and their reasons

${said.length > 0 ? said.join('\n') : 'No goal is missed.'}`;
}

/** Table of a row's parts; empty if they were not measured. */
export function parts(row: Row | undefined): string {
  if (!row?.detail) return '';
  const lines = Object.entries(row.detail).map(([name, values]) => {
    const { median, min, max } = summarize(values);
    return `| ${name.replace(/, ms$/, '')} | ${median.toFixed(1)} | ${min.toFixed(1)}–${max.toFixed(1)} |`;
  });
  return `## Where the time to a first token goes

The prompt is in the cache, so the model computes one token.

| part | median, ms | min–max |
|---|---|---|
${lines.join('\n')}

Answers have a \`Server-Timing\` header, which the browser's network panel shows: \`queue\`, \`prefill\`, \`decode\` (chat), \`compute\`
(embeddings) and \`total\`, in milliseconds, if they are known when the headers are sent.

A recording of the browser's Performance panel shows each request as bars on a track called \`localtext\`. Each bar names its request and its model, and
appears when its stage has ended. They are User Timing measures, one per stage and never per token, and are removed from the threads' own timelines at once.

- The engine's worker reports \`queue\` (waiting for the model and for a slot in it), \`prefill\` and \`decode\` of a complete reply, \`compute\` of embeddings,
  and \`load\` of a model.
- The service worker reports \`request\` when the answer is complete, and within it \`until accepted\` and \`until first token\`.`;
}

export const growth = (growing: { name: string; row: Row }[]): string => `## Growth

Both axes are logarithmic. The dashed line is linear growth through the largest size. The exponent in the table is the slope over the larger half of the sizes.

${growing.map(({ name, row }) => `### ${capitalized(row.name.replace(/^growth: /, ''))}\n\n${row.measures}\n\n![${row.series?.y} by ${row.series?.x}: exponent ${medianOf(row)}](performance/${name}.svg)`).join('\n\n')}`;

/** Method of each row, with the absolute figures. */
export const measures = (rows: Row[]): string => `## How each row is measured

${rows.map((row) => `- **${row.name}.** ${row.measures}${details(row)}`).join('\n')}`;

function details({ detail }: Row): string {
  if (!detail) return '';
  const medians = Object.entries(detail).map(([name, values]) => {
    const [, what = name, unit = ''] = /^(.*), ([^,]+)$/.exec(name) ?? [];
    const { median } = summarize(values);
    return `${what} ${median.toFixed(Math.abs(median) < 100 ? 1 : 0)} ${unit}`;
  });
  return ` Medians: ${medians.join('; ')}.`;
}

const medianOf = ({ values }: Row): string => summarize(values).median.toFixed(2);

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
