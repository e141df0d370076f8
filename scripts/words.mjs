// Reports the words of words.json, and comments longer than a paragraph. Comments say why, in a line or two.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const MAX_COMMENT_WORDS = 60;
/** Generated, data for a model to read, or the list itself. */
const EXCLUDED =
  /^docs\/api\/|^examples\/langchain-rag\/documents\/|^scripts\/words\.json$|^LICENSE$|package-lock\.json$/;
const TEXT = /\.(?:ts|tsx|js|jsx|mjs|md|css|html|svelte|json|yml)$/;
const PROGRAM = /\.(?:ts|tsx|js|jsx|mjs|css)$/;

const replacements = new Map(Object.entries(JSON.parse(readFileSync('scripts/words.json', 'utf8'))));
const words = new RegExp(`(?<![\\w-])(?:${[...replacements.keys()].join('|')})(?![\\w-])`, 'gi');
const replacementOf = (word) => replacements.get(word.toLowerCase());

/** Line comments in a row, and block comments up to their first tag, without their code. */
function comments(text) {
  const blocks = text.matchAll(/^[ \t]*\/\*[^]*?\*\/|^(?:[ \t]*\/\/.*\n)+/gm);
  return [...blocks].map(({ 0: comment, index }) => {
    const prose = comment.replaceAll(/^[ \t]*(?:\/\*\*?|\*\/|\*|\/\/)/gm, '').split(/^ *@/m)[0] ?? '';
    return { line: lineAt(text, index), length: prose.split(/\s+/).filter(Boolean).length };
  });
}

const lineAt = (text, index) => text.slice(0, index).split('\n').length;

const git = ['ls-files', '--cached', '--others', '--exclude-standard'];
const paths = execFileSync('git', git, { encoding: 'utf8' }).split('\n');
const faults = paths
  .filter((path) => TEXT.test(path) && !EXCLUDED.test(path) && existsSync(path))
  .flatMap((path) => {
    const text = readFileSync(path, 'utf8');
    const found = [...text.matchAll(words)].map(
      ({ 0: word, index }) => `${path}:${lineAt(text, index)}: "${word}". Use: ${replacementOf(word)}`,
    );
    const long = PROGRAM.test(path) ? comments(text).filter(({ length }) => length > MAX_COMMENT_WORDS) : [];
    return [
      ...found,
      ...long.map(
        ({ line, length }) =>
          `${path}:${line}: a comment of ${length} words. The limit is ${MAX_COMMENT_WORDS}.`,
      ),
    ];
  });

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
