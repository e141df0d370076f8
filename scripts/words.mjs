// Reports the words of words.json, comments longer than a paragraph, and doc comments without a subject. Comments say why,
// in a line or two.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const MAX_COMMENT_WORDS = 60;
/** Generated, data for a model to read, or the list itself. */
const EXCLUDED =
  /^docs\/api\/|^examples\/langchain-rag\/documents\/|^scripts\/words\.json$|^LICENSE$|package-lock\.json$/;
const TEXT = /\.(?:ts|tsx|js|jsx|mjs|md|css|html|svelte|json|yml)$/;
const PROGRAM = /\.(?:ts|tsx|js|jsx|mjs|css)$/;

/** Prepositions and the like: a doc comment that begins with one does not say what the thing is. */
const OPENINGS =
  'Above After Against Also Among And As At Because Before Behind Below Beside Between But By During For From If In Of On ' +
  'Once Only Or Since So That Then Through To Under Unless Until When Where Which While Whose With Within Without';
const openings = new RegExp(`^[ \\t]*/\\*\\*[\\s*]*(${OPENINGS.replaceAll(' ', '|')})(?=\\s)`, 'gm');

const replacements = new Map(
  Object.entries(JSON.parse(readFileSync(new URL('words.json', import.meta.url), 'utf8'))),
);
const words = new RegExp(`(?<![\\w-])(?:${[...replacements.keys()].join('|')})(?![\\w-])`, 'gi');
const replacementOf = (word) => replacements.get(word.toLowerCase());

function faultsOfComments(text) {
  const long = comments(text).filter(({ length }) => length > MAX_COMMENT_WORDS);
  return [
    ...long.map(({ index, length }) => ({
      index,
      fault: `a comment of ${length} words. The limit is ${MAX_COMMENT_WORDS}.`,
    })),
    ...[...text.matchAll(openings)].map(({ index, 1: word }) => ({
      index,
      fault: `a doc comment that begins with "${word}". Begin with a noun or a verb: "Resolves …".`,
    })),
  ];
}

/** Line comments in a row, and block comments up to their first tag, without their code. */
function comments(text) {
  const blocks = text.matchAll(/^[ \t]*\/\*[^]*?\*\/|^(?:[ \t]*\/\/.*\n)+/gm);
  return [...blocks].map(({ 0: comment, index }) => {
    const prose = comment.replaceAll(/^[ \t]*(?:\/\*\*?|\*\/|\*|\/\/)/gm, '').split(/^ *@/m)[0] ?? '';
    return { index, length: prose.split(/\s+/).filter(Boolean).length };
  });
}

const lineAt = (text, index) => text.slice(0, index).split('\n').length;

const git = ['ls-files', '--cached', '--others', '--exclude-standard'];
const paths = execFileSync('git', git, { encoding: 'utf8' }).split('\n');
const faults = paths
  .filter((path) => TEXT.test(path) && !EXCLUDED.test(path) && existsSync(path))
  .flatMap((path) => {
    const text = readFileSync(path, 'utf8');
    const found = [...text.matchAll(words)].map(({ 0: word, index }) => ({
      index,
      fault: `"${word}". Use: ${replacementOf(word)}`,
    }));
    if (PROGRAM.test(path)) found.push(...faultsOfComments(text));
    return found.map(({ index, fault }) => `${path}:${lineAt(text, index)}: ${fault}`);
  });

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
