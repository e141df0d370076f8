import { omitNulls } from '#base';
import { print } from './output.ts';
import { examineSite } from './doctor/examine.ts';
import type { Level } from './doctor/answers.ts';
import { parseFlags, UsageError } from './arguments.ts';
import { Progress } from './progress.ts';

export const help = `Usage: localtext doctor <url> [options]

Checks a deployed page from outside, and says what keeps localtext from working there and how to fix it: secure
address, headers, service worker and its scope, the types and hashes of files, the weights and their sizes, ranges.

  --service-worker <url>   the site's own service worker (default: localtext-sw.js in the page's folder, or at the root)
  --models <url>           folder with the weights (default: models/ beside the service worker)
  --json                   the findings as JSON
  --help                   this text

Ends with 0 when nothing is at fault (warnings are no faults), with 1 when something is.`;

const marks: Record<Level, string> = { ok: '  ok     ', warning: '  warning', fault: '  FAULT  ' };

export async function run(args: string[], signal?: AbortSignal): Promise<number> {
  const { values, positionals } = parseFlags({
    args,
    allowPositionals: true,
    options: {
      'service-worker': { type: 'string' },
      models: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [address, ...others] = positionals;
  if (address === undefined || others.length > 0) throw new UsageError('localtext doctor takes one address.');
  const progress = new Progress(process.stderr);
  const findings = await examineSite(address, {
    onProgress: (text) => progress.status(text),
    ...omitNulls({ signal, serviceWorker: values['service-worker'], models: values.models }),
  }).finally(() => progress.end());
  const faults = findings.filter(({ level }) => level === 'fault').length;
  if (values.json) print(JSON.stringify(findings, null, 2));
  else {
    for (const { level, text, fix } of findings)
      print(`${marks[level]}  ${text}${fix === undefined ? '' : `\n           → ${fix}`}`);
    print(faults === 0 ? '\nNo faults found.' : `\n${faults} fault${faults === 1 ? '' : 's'} found.`);
  }
  return faults === 0 ? 0 : 1;
}
