import { computed } from '@preact/signals';
import { preference } from '../preferences.ts';

const EXAMPLE = `A cat sleeps on the warm windowsill.
The kitten naps in the sun.
A dog runs across the wet grass.
Bread is baked from flour, water and yeast.
How do I make a loaf at home?
The train to Vienna leaves at noon.
Trains depart for Austria every day.`;

export const texts = preference('embedding-texts', EXAMPLE);

export const lines = computed(() =>
  texts.value
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== ''),
);
