import { start } from 'localtext';
import { createStore, showModel, showUpdate } from 'localtext/store';
import { FOLDERS } from './mails.js';

const MODEL = 'jade-mole-4';
const form = document.querySelector('form');
const receive = document.querySelector('button');
const stop = document.querySelector('#stop');
const output = document.querySelector('output');
const main = document.querySelector('main');

const lists = Object.fromEntries(
  Object.keys(FOLDERS).map((name) => {
    const heading = document.createElement('h2');
    heading.textContent = name;
    const list = document.createElement('ul');
    list.id = name;
    main.append(heading, list);
    return [name, list];
  }),
);

// Shows a first visit's download: its size, its progress and a button to cancel it.
const store = createStore(() => start());
// Says when a new build of the site is ready: a plain reload shows the earlier one.
showUpdate(store, document.querySelector('.update'));
await showModel(store, MODEL, document.querySelector('.model'));
const localtext = await store.start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'sorted-inbox example' });

/** Puts a mail into the most probable folder. @returns the folder's name */
async function sort(mail, signal) {
  const response = await localtext.fetch(`${localtext.baseURL}/decisions`, {
    method: 'POST',
    signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: MODEL,
      input: mail,
      questions: [
        {
          type: 'choice',
          instructions: 'Into which folder does this mail belong?',
          choices: Object.entries(FOLDERS).map(([value, { description }]) => ({ value, description })),
        },
      ],
    }),
  });
  const { answers, error } = await response.json();
  if (error) throw new Error(error.message);
  const [{ choice, confidence }] = answers;
  const item = document.createElement('li');
  item.textContent = `${mail} (${Math.round(100 * confidence)}\u00a0%)`;
  lists[choice].prepend(item);
  return choice;
}

// The model does not see the labels: they measure how well it sorts.
const labelled = Object.entries(FOLDERS).flatMap(([name, { mails }]) =>
  mails.map((mail) => ({ name, mail })),
);
await run(async (signal) => {
  let right = 0;
  for (const { name, mail } of labelled) if ((await sort(mail, signal)) === name) right++;
  return `${right} of ${labelled.length} mails are sorted as a person did.`;
});

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void run(async (signal) => {
    const folder = await sort(form.elements.mail.value, signal);
    form.reset();
    return `Sorted into ${folder}.`;
  });
});

/** Sorts, until the button ends it. @param work resolves to what is shown then */
async function run(work) {
  const controller = new AbortController();
  const { signal } = controller;
  stop.onclick = () => controller.abort();
  receive.disabled = true;
  stop.disabled = false;
  output.textContent = 'Sorting…';
  try {
    output.textContent = await work(signal);
  } catch (error) {
    output.textContent = signal.aborted ? 'Stopped.' : error.message;
  } finally {
    receive.disabled = false;
    stop.disabled = true;
  }
}
