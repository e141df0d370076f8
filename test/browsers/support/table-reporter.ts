import { readdir, readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

const PATH = 'docs/browsers.md';
const FOLDER = 'test/browsers';
const MARKED = /(<!-- results -->\n)[^]*(<!-- \/results -->)/;

/**
 * Compares the table in docs/browsers.md with what the tests of all browsers have just shown, and writes it where
 * LOCALTEXT_WRITE_TABLE is set. A run of some tests or some browsers says nothing, nor does one with
 * a failed test, which may pass when it runs again.
 */
export default class TableReporter implements Reporter {
  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const ours = modules
      .filter(({ project }) => project.name === 'browsers')
      .toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1));
    // A test that does not run in a browser is skipped there.
    const tests = ours
      .flatMap((module) => [...module.children.allTests()])
      .filter((each) => each.result().state !== 'skipped');
    const selection = process.env['LOCALTEXT_BROWSERS'] ?? '';
    const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.test.ts'));
    if (
      ours.length < files.length ||
      selection !== '' ||
      tests.some((each) => each.result().state !== 'passed')
    )
      return;
    const text = await readFile(PATH, 'utf8');
    const written = text.replace(
      MARKED,
      (_all, begin: string, end: string) => `${begin}${table(tests)}${end}`,
    );
    const expected = await format(written, { ...(await resolveConfig(PATH)), filepath: PATH });
    if (expected === text) return;
    if (process.env['LOCALTEXT_WRITE_TABLE']) {
      await writeFile(PATH, expected);
      return;
    }
    process.exitCode = 1;
    console.error(
      `The table in ${PATH} differs from these results. Run: LOCALTEXT_WRITE_TABLE=1 npm run test:browsers`,
    );
  }
}

function table(tests: TestCase[]): string {
  const browsers = [...new Set(tests.map(browserOf))];
  const names = [...new Set(tests.map(({ name }) => name))];
  const row = (cells: string[]): string => `| ${cells.join(' | ')} |\n`;
  const cell = (name: string, browser: string): string => {
    const test = tests.find((each) => each.name === name && browserOf(each) === browser);
    return test ? 'yes' : '';
  };
  const rows = names.map((name) => [name, ...browsers.map((browser) => cell(name, browser))]);
  const partial = rows.filter((cells) => cells.includes(''));
  return [
    `\n${rows.length - partial.length} tests pass in ${browsers.join(', ')}. The others pass where the table says so:\n\n`,
    row(['', ...browsers]),
    row(['---', ...browsers.map(() => '---')]),
    ...partial.map(row),
  ].join('');
}

const browserOf = ({ parent }: TestCase): string =>
  parent.type === 'suite' ? parent.name.replaceAll("'", '') : '';
