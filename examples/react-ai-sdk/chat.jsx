import { useChat } from '@ai-sdk/react';
import { useState } from 'react';

export function Chat({ transport, ready }) {
  const { messages, sendMessage, status, stop, error } = useChat({ transport });
  const [text, setText] = useState('Name the capital of France.');
  const busy = status === 'submitted' || status === 'streaming';

  const submit = (event) => {
    event.preventDefault();
    void sendMessage({ text });
    setText('');
  };

  return (
    <>
      {messages.map(({ id, role, parts }) => (
        <p key={id} className={role}>
          <b>{role}</b>
          <br />
          {parts.map((part) => (part.type === 'text' ? part.text : ''))}
        </p>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <output>{busy && 'Answering…'}</output>
      <form onSubmit={submit}>
        <input
          name="prompt"
          aria-label="Prompt"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button disabled={!ready || busy || text === ''}>Send</button>
        <button type="button" disabled={!busy} onClick={stop}>
          Stop
        </button>
      </form>
    </>
  );
}
