import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright';

import type { Catalog } from '../../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../../src/catalog/default-catalog.ts';
import { qwenGguf05B } from '../../../../src/catalog/hub-variants.ts';
import { serveWeights, withQualityPage } from '../quality-page.ts';
import { type Judged, type Method, METHODS, type Task } from './methods.ts';

interface Outcome extends Judged {
  isRight: boolean;
  ms: number;
}

export interface DecisionOptions {
  /** Takes every text of that many. */
  step: number;
  /** Prefix of the methods to run. */
  methods: string;
  /** Path of a larger model's GGUF file, in place of the smallest chat model. */
  gguf?: string;
}

/** Prints accuracy, calibration error and milliseconds of each method on the labelled texts. */
export async function measureDecisions({ step, methods, gguf }: DecisionOptions): Promise<void> {
  const tasks = JSON.parse(await readFile(new URL('labelled-texts.json', import.meta.url), 'utf8')) as Task[];
  const larger = gguf === undefined ? null : await serveLarger(gguf);
  try {
    await withQualityPage(larger?.catalog ?? defaultCatalog, async (page) => {
      for (const method of METHODS.filter(({ name }) => name.startsWith(methods))) {
        const outcomes: Outcome[] = [];
        for (const task of tasks) {
          const own = await outcomesOf(page, method, task, step);
          outcomes.push(...own);
          console.log(line(`${method.name}: ${task.task}`, own));
        }
        console.log(line(`${method.name}: all`, outcomes));
      }
    });
  } finally {
    larger?.close();
  }
}

/** The weights under the id of the smallest chat model, from another origin. */
async function serveLarger(gguf: string): Promise<{ catalog: Catalog; close(): void }> {
  const { file, close } = await serveWeights(gguf);
  const { hub: _, needs: __, ...known } = qwenGguf05B;
  const variants = [{ ...known, name: 'larger', files: [file] }];
  const models = defaultCatalog.models.map((model) =>
    model.id === 'amber-phoenix-4' ? { ...model, variants } : model,
  );
  return { catalog: { ...defaultCatalog, models }, close };
}

async function outcomesOf(page: Page, method: Method, task: Task, step: number): Promise<Outcome[]> {
  const texts = Object.entries(task.texts).flatMap(([label, list]) =>
    list.filter((_, index) => index % step === 0).map((text) => ({ label, text })),
  );
  const asked = texts.map(({ text }) => method.ask(task, text));
  const answers = await page.evaluate(async (requests) => {
    const limits = { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000 };
    const { key } = await (await window.localtext).keys.ensure({ label: 'quality', limits });
    const told: { json: unknown; ms: number }[] = [];
    // The first loads the model.
    for (const { path, body } of [...requests.slice(0, 1), ...requests]) {
      const began = performance.now();
      const response = await fetch(path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      told.push({ json: JSON.parse(text), ms: performance.now() - began });
    }
    return told.slice(1);
  }, asked);
  return answers.map(({ json, ms }, index) => {
    const judged = method.read(task, json);
    return { ...judged, ms, isRight: judged.label === texts[index]?.label };
  });
}

function line(name: string, outcomes: readonly Outcome[]): string {
  const right = outcomes.filter(({ isRight }) => isRight).length;
  const times = outcomes.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const median = Math.round(times[Math.floor(times.length / 2)] ?? 0);
  const error = calibrationError(outcomes);
  const accuracy = ((100 * right) / outcomes.length).toFixed(1);
  return `${name}: ${accuracy} % of ${outcomes.length}, calibration error ${error?.toFixed(3) ?? 'unknown'}, ${median} ms`;
}

const BINS = 10;

/** Mean distance of confidence and accuracy, in ten bins of confidence. */
function calibrationError(outcomes: readonly Outcome[]): number | null {
  let distance = 0;
  for (let bin = 0; bin < BINS; bin++) {
    const own = outcomes.filter(
      ({ confidence }) => confidence !== null && Math.min(BINS - 1, Math.floor(confidence * BINS)) === bin,
    );
    const sum = own.reduce(
      (total, { confidence, isRight }) => total + (confidence ?? 0) - Number(isRight),
      0,
    );
    distance += Math.abs(sum);
  }
  return outcomes.some(({ confidence }) => confidence !== null) ? distance / outcomes.length : null;
}
