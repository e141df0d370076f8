import { unsupported } from '#base';
import type { ChatImage } from '#jobs';

/** Replaces empty arguments by an empty object: histories may have them, and templates parse them. */
export const orEmptyObject = (json: string): string => (json.trim() === '' ? '{}' : json);

type ImageDetail = string | null | undefined;
type ImagePart = { type: string } & (
  { image_url: string; detail?: ImageDetail } | { image_url: { url: string; detail?: ImageDetail } }
);
type Part = { type: string; text: string } | { type: 'refusal'; refusal: string } | ImagePart;
type Content = string | readonly Part[];

/**
 * A message's content as engines take it: texts joined, images in their places between them.
 * @param at path of the content in the request
 * @param textType type of text parts that this endpoint accepts
 * @param images null: images are not allowed
 * @throws ServiceError 400
 */
export function toContent(
  content: Content,
  at: string,
  textType: 'text' | 'input_text',
  images: ChatImage[] | null = [],
): { content: string; images?: ChatImage[] } {
  if (typeof content === 'string') return { content: content.toWellFormed() };
  let text = '';
  let separator = '';
  for (const [index, part] of content.entries()) {
    const param = `${at}[${index}]`;
    if (images && 'image_url' in part) {
      const { image_url: image } = part;
      const { url, detail } = typeof image === 'string' ? { ...part, url: image } : image;
      images.push({ at: text.length, url, ...(detail && { detail }), param });
      separator = '';
    } else {
      text += separator + textOf(part, param, textType);
      separator = '\n';
    }
  }
  return { content: text.toWellFormed(), ...(images?.length && { images }) };
}

export const toText = (content: Content, at: string, textType: 'text' | 'input_text'): string =>
  toContent(content, at, textType, null).content;

function textOf(part: Part, param: string, textType: string): string {
  if ('text' in part) return part.text;
  if ('refusal' in part) return part.refusal;
  const rule = `must be "${textType}" here. Images go into messages of the role \`user\``;
  throw unsupported(`${param}.type`, rule);
}
