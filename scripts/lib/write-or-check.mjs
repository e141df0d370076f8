import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Writes a generated file. With `--check` compares it instead, and fails when it is out of date. */
export function writeOrCheck(path, text) {
  if (!process.argv.includes('--check')) {
    writeFileSync(path, text);
    return;
  }
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  const [, script] = process.argv;
  console.error(`${path} is out of date. Run: node ${script.slice(script.indexOf('scripts'))}`);
  process.exitCode = 1;
}
