export const PRIMARY = 'ˈ';
export const SECONDARY = 'ˌ';

const VOWELS = new Set('AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ');
const CONSONANTS = new Set('bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ');
const DIPHTHONGS = new Set('AIOQWYʤʧ');

export const isVowel = (phoneme: string): boolean => VOWELS.has(phoneme);
export const isConsonant = (phoneme: string): boolean => CONSONANTS.has(phoneme);

const hasStress = (phonemes: string): boolean => phonemes.includes(PRIMARY) || phonemes.includes(SECONDARY);

/** Length of a reading: diphthongs and affricates count twice. */
export const lengthOf = (phonemes: string): number =>
  Array.from(phonemes).reduce((length, c) => length + (DIPHTHONGS.has(c) ? 2 : 1), 0);

/** Puts a mark before the first vowel; without vowels nothing changes. */
function marked(phonemes: string, mark: string): string {
  const characters = Array.from(phonemes);
  const at = characters.findIndex(isVowel);
  return at < 0 ? phonemes : [...characters.slice(0, at), mark, ...characters.slice(at)].join('');
}

/**
 * Changes the stress of a reading.
 * @param stress below -1: none; -1: secondary at most; 0 and -0.5: secondary instead of primary; 0 to 1: at least
 *   secondary; from 1: primary instead of secondary; above 1: primary. Null: as it is.
 */
export function withStress(phonemes: string, stress: number | null): string {
  if (stress === null) return phonemes;
  if (stress < -1) return phonemes.replaceAll(/[ˈˌ]/g, '');
  if (stress === -1 || ((stress === 0 || stress === -0.5) && phonemes.includes(PRIMARY)))
    return phonemes.replaceAll(SECONDARY, '').replaceAll(PRIMARY, SECONDARY);
  if (stress >= 0 && stress <= 1 && !hasStress(phonemes)) return marked(phonemes, SECONDARY);
  if (stress >= 1 && !phonemes.includes(PRIMARY) && phonemes.includes(SECONDARY))
    return phonemes.replaceAll(SECONDARY, PRIMARY);
  if (stress > 1 && !hasStress(phonemes)) return marked(phonemes, PRIMARY);
  return phonemes;
}
