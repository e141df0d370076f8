import { type Answer, fetchText, isFound, isScriptType } from './answers.ts';
import { fault, type Finding } from './finding.ts';

type Script = Answer & { text: string };

/** Maximum number of imported scripts that are read. */
const MAX_IMPORTS = 20;

const hasLocaltext = ({ text }: Script): boolean => text.includes('localtext:');

/** Whether localtext is in a service worker's script, or in one that it imports. */
export async function examineContent(script: Script): Promise<Finding[]> {
  if (hasLocaltext(script)) return [];
  const imported = await importsOf(script);
  if (imported.some((each) => isFound(each) && isScriptType(each.type) && hasLocaltext(each))) return [];
  const refused = imported.find((each) => !isFound(each) || !isScriptType(each.type));
  if (!refused)
    return [
      fault(
        `${script.url.href} does not contain localtext.`,
        "Call addLocaltext() of 'localtext/sw' in it, first of all, or import localtext-sw-import.js: docs/service-worker.md.",
      ),
    ];
  const why = isFound(refused) ? `is served as ${refused.type || 'nothing'}` : `answers ${refused.status}`;
  return [
    fault(
      `${script.url.href} imports ${refused.url.href}, which ${why}: browsers refuse the service worker.`,
      'Deploy the file, as text/javascript. The Vite plugin and `localtext init` write localtext-sw-import.js.',
    ),
  ];
}

/**
 * Scripts of the site's origin that `importScripts()` names literally, as a generated service worker does.
 */
async function importsOf({ url, text }: Script): Promise<Script[]> {
  const paths = [...text.matchAll(/\bimportScripts\(([^()]*)\)/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/["'`]([^"'`]+)["'`]/g)].map(([, path = '']) => path),
  );
  const addresses = [...new Set(paths)].filter((path) => URL.canParse(path, url.href));
  const own = addresses.map((path) => new URL(path, url)).filter(({ origin }) => origin === url.origin);
  return Promise.all(own.slice(0, MAX_IMPORTS).map(fetchText));
}
