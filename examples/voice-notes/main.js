import { start } from 'localtext';
import { defaultCatalog, extendCatalog, speech } from 'localtext/catalog';
import { createStore, showModel, showUpdate } from 'localtext/store';
import OpenAI from 'openai';

const SAVED = 'voice-notes:notes';
const record = document.querySelector('#record');
const cancel = document.querySelector('#cancel');
const form = document.querySelector('form');
const output = document.querySelector('output');
const list = document.querySelector('ol');

/** Each with its text and its vector. */
const notes = JSON.parse(localStorage.getItem(SAVED) ?? '[]');
show(notes);

// Shows a first visit's downloads: their sizes, their progress and buttons to cancel them.
const store = createStore(() => start({ catalog: extendCatalog(defaultCatalog, speech) }));
// Says when a new build of the site is ready: a plain reload shows the earlier one.
showUpdate(store, document.querySelector('.update'));
const [toHear, toFind] = document.querySelectorAll('.model');
await Promise.all([showModel(store, 'coral-wren-4', toHear), showModel(store, 'jade-mole-4', toFind)]);
const localtext = await store.start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'voice-notes example' });
const openai = new OpenAI({
  baseURL: localtext.baseURL,
  fetch: localtext.fetch,
  apiKey: key,
  dangerouslyAllowBrowser: true,
});

output.textContent = 'Ready, also without a network.';
record.disabled = form.querySelector('button').disabled = false;

let recorder = null;
record.addEventListener('click', async () => {
  if (recorder) {
    recorder.stop();
    return;
  }
  // A second recorder could not be stopped.
  record.disabled = true;
  try {
    // The browser asks the user here, and not before.
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    recorder = new MediaRecorder(stream);
    recorder.addEventListener('dataavailable', ({ data }) => void keep(data));
    recorder.addEventListener('stop', () => {
      for (const track of stream.getTracks()) track.stop();
      recorder = null;
      record.textContent = 'Record';
    });
    recorder.start();
    record.textContent = 'Stop';
  } catch (error) {
    output.textContent = error.message;
  } finally {
    record.disabled = false;
  }
});

let controller;
cancel.addEventListener('click', () => controller.abort());

/** Transcribes a recording and stores it with the vector of its text. */
async function keep(recording) {
  controller = new AbortController();
  const { signal } = controller;
  output.textContent = 'Transcribing…';
  cancel.disabled = false;
  try {
    // Some browsers name no type.
    const [, ending = 'webm'] = /^audio\/(\w+)/.exec(recording.type) ?? [];
    const file = new File([recording], `note.${ending}`, { type: recording.type });
    const { text } = await openai.audio.transcriptions.create({ file, model: 'coral-wren-4' }, { signal });
    if (text === '') throw new Error('No speech was recognized.');
    notes.unshift({ text, vector: await embed(text) });
    localStorage.setItem(SAVED, JSON.stringify(notes));
    output.textContent = '';
    show(notes);
  } catch (error) {
    output.textContent = signal.aborted ? 'Stopped.' : error.message;
  } finally {
    cancel.disabled = true;
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  output.textContent = 'Searching…';
  try {
    const query = await embed(form.elements.query.value);
    // Vectors have length 1: their product is the cosine.
    const score = ({ vector }) => vector.reduce((sum, value, at) => sum + value * query[at], 0);
    show(notes.toSorted((a, b) => score(b) - score(a)));
    output.textContent = '';
  } catch (error) {
    output.textContent = error.message;
  }
});

async function embed(text) {
  const { data } = await openai.embeddings.create({ model: 'jade-mole-4', input: text });
  return data[0].embedding;
}

function show(shown) {
  list.replaceChildren(
    ...shown.map(({ text }) => {
      const item = document.createElement('li');
      item.textContent = text;
      return item;
    }),
  );
}
