// Written for Chrome's Prompt API alone: nothing here names localtext.
const form = document.querySelector('form');
const button = document.querySelector('button');
const stop = document.querySelector('#stop');
const progress = document.querySelector('progress');
const shown = document.querySelector('.reply');
const output = document.querySelector('output');

const availability = await LanguageModel.availability();
output.textContent = {
  unavailable: 'There is no model for this browser.',
  downloadable: 'The first question downloads the model.',
  downloading: 'The model is being downloaded.',
  available: 'The model is ready.',
}[availability];
button.disabled = availability === 'unavailable';

let session;
let controller;
stop.addEventListener('click', () => controller.abort());

/** A signal that the button aborts. That of `create()` also destroys the session, so each step has its own. */
function stoppable() {
  controller = new AbortController();
  return controller.signal;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  stop.disabled = false;
  shown.textContent = '';
  output.textContent = 'Answering…';
  try {
    // One session for all questions: it remembers them. Browsers allow its download after a click.
    session ??= await LanguageModel.create({
      signal: stoppable(),
      samplingMode: 'most-predictable',
      initialPrompts: [
        { role: 'system', content: 'You are a helpful assistant. Answer in one short English sentence.' },
      ],
      monitor(monitor) {
        monitor.addEventListener('downloadprogress', ({ loaded }) => {
          progress.hidden = loaded === 1;
          progress.value = loaded;
          output.textContent = loaded < 1 ? 'Loading the model…' : 'Answering…';
        });
      },
    });
    const reader = session.promptStreaming(form.elements.prompt.value, { signal: stoppable() }).getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read())
      shown.textContent += read.value;
    // A screen reader reads this, and not each piece.
    output.textContent = 'The reply is complete.';
  } catch (error) {
    output.textContent = controller.signal.aborted ? 'Stopped.' : error.message;
  } finally {
    progress.hidden = true;
    button.disabled = false;
    stop.disabled = true;
  }
});
