import { findExcess, readJson } from '#base';
import { textsAndImages, type ChatMessage, type ToolCall } from '#jobs';
import type { TemplateMessage } from './bounded-template.ts';
import type { ClientText } from './client-text.ts';
import { resultText, withToolCalls } from './tool-call-text.ts';

/** The form in which a template takes conversations. */
export interface ConversationForm {
  /**
   * Form of calls and their results. `short ids`: nine letters and digits, as templates of the Mistral family require.
   * `text arguments`: arguments as JSON text, and no content beside calls. `in text`: within the messages' texts.
   */
  calls: 'native' | 'short ids' | 'text arguments' | 'in text';
  /** Where system messages may be: if only first, all are joined there. If nowhere, they precede the first user text. */
  system: 'anywhere' | 'first' | 'in user';
  /** Whether roles must alternate: neighbours of the same role are joined. */
  alternates: boolean;
}

/** Forms of calls to try, the client's own first. */
export const CALL_FORMS = ['native', 'short ids', 'text arguments'] as const;

/**
 * Arranges a conversation in a form, with the marks of clients' characters.
 * @param marker text that stands for an image
 */
export function arrange(
  messages: readonly ChatMessage[],
  { calls, system, alternates }: ConversationForm,
  clientText: ClientText,
  marker: string | null = null,
): TemplateMessage[] {
  const shortIds = calls === 'short ids' ? shortIdsOf(messages) : null;
  const toId = (id: string): string => clientText.mark(shortIds?.get(id) ?? id);
  const turns = messages.map((message): TemplateMessage => {
    const { role } = message;
    const content = withMarkers(message, clientText.mark(message.content), marker);
    if (message.role === 'tool') {
      return calls === 'in text'
        ? { role: 'user', content: resultText(content) }
        : { role, content, tool_call_id: toId(message.toolCallId) };
    }
    if (message.role !== 'assistant' || !message.toolCalls) return { role, content };
    if (calls === 'in text') {
      const inText = message.toolCalls.map((call) => markedCall(call, clientText));
      return { role, content: withToolCalls(content, inText) };
    }
    const areTexts = calls === 'text arguments';
    return {
      role,
      content: areTexts && content === '' ? null : content,
      tool_calls: message.toolCalls.map(({ id, name, arguments: json }) => ({
        id: toId(id),
        type: 'function',
        function: {
          name: clientText.mark(name),
          arguments: areTexts ? clientText.mark(json) : clientText.markAll(parsed(json)),
        },
      })),
    };
  });
  const placed = placeSystem(turns, system);
  return alternates ? joinNeighbours(placed) : placed;
}

/** Inserts a marker at the position of each image. */
function withMarkers(message: ChatMessage, content: string, marker: string | null): string {
  if (message.role !== 'user' || !message.images || marker === null) return content;
  const parts = textsAndImages(content, message.images);
  return parts.map((part) => (typeof part === 'string' ? part : marker)).join('');
}

const markedCall = (call: ToolCall, clientText: ClientText): ToolCall => ({
  ...call,
  name: clientText.mark(call.name),
  arguments: clientText.mark(call.arguments),
});

const SHORT_ID = /^[a-zA-Z0-9]{9}$/;

/** Maps a conversation's call ids to short ones: all or none, as an id that stays may be equal to a new one. */
function shortIdsOf(messages: readonly ChatMessage[]): ReadonlyMap<string, string> {
  const ids = messages.flatMap((message) => {
    if (message.role === 'tool') return [message.toolCallId];
    return message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : [];
  });
  if (ids.every((id) => SHORT_ID.test(id))) return new Map();
  return new Map([...new Set(ids)].map((id, index) => [id, `call${String(index).padStart(5, '0')}`]));
}

/** Maximum values of a call's arguments: more than any context holds. */
const MAX_VALUES = 50_000;

/** Parses a call's arguments, which templates expect as objects. Invalid JSON stays text, and so does deep JSON. */
function parsed(json: string): unknown {
  if (findExcess(new TextEncoder().encode(json), MAX_VALUES)) return json;
  try {
    JSON.parse(json);
  } catch {
    return json;
  }
  return readJson(json);
}

const isSystem = ({ role }: TemplateMessage): boolean => role === 'system';

function placeSystem(turns: TemplateMessage[], place: ConversationForm['system']): TemplateMessage[] {
  const system = turns.filter(isSystem);
  if (place === 'anywhere' || system.length === 0) return turns;
  const content = system.map((each) => each.content).join('\n\n');
  const others = turns.filter((turn) => !isSystem(turn));
  if (place === 'first') return [{ role: 'system', content }, ...others];
  const [next, ...rest] = others;
  return [...joinNeighbours([{ role: 'user', content }, ...(next ? [next] : [])]), ...rest];
}

const isJoined = ({ role, tool_calls: calls }: TemplateMessage): boolean => role !== 'tool' && !calls;

/** Joins consecutive messages of the same role, but for calls and their results. */
function joinNeighbours(turns: readonly TemplateMessage[]): TemplateMessage[] {
  const joined: TemplateMessage[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last && last.role === turn.role && isJoined(last) && isJoined(turn))
      joined[joined.length - 1] = { ...last, content: `${last.content}\n\n${turn.content}` };
    else joined.push(turn);
  }
  return joined;
}
