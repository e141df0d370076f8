/** Rendering within these bounds takes at most some tenths of a second. Models write far less. */
const MAX_CHARS = 50_000;
const MAX_LINES = 2000;
/** Each level of a quote or list is a call on the parser's stack. */
const MAX_DEPTH = 32;
/** A table has as many cells as its widest line, in every line. */
const MAX_CELLS = 10_000;
/** Brackets and emphasis marks: the parser looks for the end of each in all the text after it. */
const MAX_MARKS_IN_PARAGRAPH = 2000;

const CONTAINERS = /^(?:[ \t]*(?:>|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)))+/;

/** Whether a text is small and flat enough to be rendered as Markdown. Other texts are shown as plain text. */
export function isRenderable(text: string): boolean {
  if (text.length > MAX_CHARS) return false;
  const lines = text.split('\n');
  if (lines.length > MAX_LINES) return false;
  let widest = 0;
  let marks = 0;
  for (const line of lines) {
    if (depthOf(line) > MAX_DEPTH) return false;
    widest = Math.max(widest, occurrences(line, '|'));
    marks = line.trim() === '' ? 0 : marks + (line.match(/[[\]*_~`<!]/g)?.length ?? 0);
    if (marks > MAX_MARKS_IN_PARAGRAPH) return false;
  }
  return widest * lines.length <= MAX_CELLS || widest < 2;
}

function depthOf(line: string): number {
  const markers = CONTAINERS.exec(line)?.[0];
  if (markers === undefined) return 0;
  const indentation = markers.length - markers.trimStart().length;
  return markers.replaceAll(/[ \t\d]/g, '').length + indentation / 2;
}

const occurrences = (text: string, mark: string): number => text.split(mark).length - 1;
