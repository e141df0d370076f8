import { eachOf, fetchAnswer, isFound, isHtml, fault, type Finding, ok, warning } from './answers.ts';
import type { WeightFile } from '#catalog';
import { defaultCatalog } from '#catalog/default';

/** Smaller files download again at once. */
const MIN_RANGED_BYTES = 5e6;

/**
 * Checks the weights of the default catalog, whose sizes are known: they exist, have the right size, and are
 * served in ranges.
 * @param models folder with the weights, ending in a slash
 * @param page page that fetches them
 */
export async function examineWeights(models: URL, page: URL): Promise<Finding[]> {
  const variants = new Map(
    defaultCatalog.models
      .flatMap((model) => model.variants)
      .filter(({ files }) => files.length > 0)
      .map((variant) => [variant.name, variant]),
  );
  const perVariant = await eachOf([...variants], async ([name, { files, optIn = false }]) => {
    const states = await eachOf(files, (file) => examineFile(file, models, page));
    const missing = states.filter((state) => state === 'missing').length;
    return { name, whole: missing === 0, none: missing === states.length, optIn, states };
  });
  const pull = `Download them: npx localtext pull --to <folder>, and deploy the folder at ${models.href} (or name another: start({ modelsUrl }), and --models here).`;
  if (perVariant.every(({ none }) => none)) return [fault(`There are no weights at ${models.href}`, pull)];
  return perVariant.flatMap(({ name, whole, none, optIn, states }): Finding[] => {
    const findings = states.filter((state) => typeof state !== 'string');
    // A site needs an `optIn` variant only if its pages prefer it.
    if (none && optIn) return [];
    if (none)
      return [warning(`The weights of ${name} are missing: models that need them do not answer.`, pull)];
    if (!whole) return [fault(`Some of the weights of ${name} are missing.`, pull), ...findings];
    return findings.length > 0 ? findings : [ok(`The weights of ${name} are complete and served in ranges.`)];
  });
}

async function examineFile(file: WeightFile, models: URL, page: URL): Promise<Finding | 'missing' | 'well'> {
  const url = new URL(file.path, models);
  const answer = await fetchAnswer(url, { range: 'bytes=0-0', origin: page.origin });
  if (!isFound(answer) || isHtml(answer)) return 'missing';
  const { headers, status } = answer;
  const total = status === 206 ? headers.get('content-range')?.split('/')[1] : headers.get('content-length');
  if (total && Number(total) !== file.bytes)
    return fault(
      `${file.path} has ${total} bytes instead of ${file.bytes}: it would be refused.`,
      'Download it again: npx localtext pull. A file in Git LFS must be fetched before it is deployed.',
    );
  if (headers.has('content-encoding'))
    return fault(
      `${file.path} is served compressed.`,
      'Compression does not make weights smaller: turn it off for them.',
    );
  if (url.origin !== page.origin) {
    const allowed = headers.get('access-control-allow-origin');
    if (allowed !== '*' && allowed !== page.origin)
      return fault(
        `${url.origin} does not let ${page.origin} read ${file.path}.`,
        `Send \`Access-Control-Allow-Origin: ${page.origin}\` from there.`,
      );
  }
  if (status !== 206 && file.bytes >= MIN_RANGED_BYTES)
    return warning(
      `${file.path} is not served in ranges: an interrupted download starts over.`,
      'Have the host answer Range requests (206 Partial Content).',
    );
  return 'well';
}
