import type { BuiltInVariant } from './rules.ts';
import type { PageModelAvailability, PageModel } from '#protocol';
import { withTimeout } from '#base';

const ASK_MS = 5000;

const FAULTS: Record<PageModelAvailability['state'], string | undefined> = {
  absent: 'needs the Prompt API (LanguageModel), which this browser does not offer here',
  unavailable: "needs the browser's own model, which it does not offer on this device",
  downloadable: "needs the browser's own model, which it has not downloaded: nobody has asked for that",
  downloading: "needs the browser's own model, which it is downloading",
  available: undefined,
};

/** Why the browser's model cannot answer now, as a phrase that follows its name; undefined if it can. */
export async function builtInFault(
  model: PageModel | undefined,
  { languages = [] }: BuiltInVariant,
): Promise<string | undefined> {
  if (!model) return FAULTS.absent;
  try {
    const known = await withTimeout(model.availability(languages), ASK_MS);
    return known ? FAULTS[known.state] : "needs the browser's own model, and the browser does not answer";
  } catch (error) {
    console.warn('localtext: the browser did not report whether its model is available', error);
    return FAULTS.unavailable;
  }
}
