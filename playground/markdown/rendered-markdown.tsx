import { Marked, type Token, type Tokens } from 'marked';
import { memo } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import { CodeBlock } from './code-block.tsx';
import { isRenderable } from './markdown-bounds.ts';
import { PlainText } from './plain-text.tsx';
import DOMPurify from 'dompurify';

const marked = new Marked({
  gfm: true,
  // Show an image's alternative text; do not fetch the image.
  renderer: { image: ({ text }) => escapeHtml(text) },
});

/**
 * A model's Markdown, or its plain text where Markdown is too large or too deep for the page to stay responsive. Only blocks
 * whose text changed are rendered again, so that a long reply streams smoothly.
 */
export function RenderedMarkdown({ text }: { text: string }) {
  const tokens = useMemo(() => (isRenderable(text) ? parse(text) : null), [text]);
  if (tokens === null) return <PlainText text={text} />;
  return (
    <div class="markdown">
      {tokens.map((token, index) => (
        // Blocks are only ever added at the end, or the last one grows.
        <Block key={index} raw={token.raw} token={token} />
      ))}
    </div>
  );
}

function parse(text: string): Token[] {
  const tokens = marked.lexer(text);
  marked.walkTokens(tokens, (token) => {
    // Headings of the reply rank below the page's.
    if (token.type === 'heading')
      (token as Tokens.Heading).depth = Math.min(6, (token as Tokens.Heading).depth + 1);
  });
  return tokens;
}

const Block = memo(
  function Block({ token }: { raw: string; token: Token }) {
    if (token.type === 'space') return null;
    if (token.type === 'code') {
      const { text, lang } = token as Tokens.Code;
      return <CodeBlock text={text} lang={lang ?? ''} />;
    }
    const html = sanitize(marked.parser([token]));
    return <div class="markdown-block" dir="auto" dangerouslySetInnerHTML={{ __html: html }} />;
  },
  (before, after) => before.raw === after.raw && before.token.type === after.token.type,
);

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const TAGS =
  'p br hr strong em del code pre blockquote ul ol li a h1 h2 h3 h4 h5 h6 table thead tbody tr th td'.split(
    ' ',
  );

/** DOMPurify drops values that are no allowed URI, except in the attributes that it knows and those named here. */
const NO_URIS = ['align', 'start'];

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName === 'OL' && Number(node.getAttribute('start')) > 999)
    node.setAttribute('data-long-numbers', '');
  if (node.nodeName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer nofollow');
});

/**
 * What a model wrote is untrusted: an allow-list without images (a remote one would tell its server that it was
 * shown), styles, forms or ids.
 */
function sanitize(html: string): string {
  const clean = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href', 'title', ...NO_URIS],
    ADD_URI_SAFE_ATTR: NO_URIS,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_TRUSTED_TYPE: true,
  });
  // A TrustedHTML where the browser has them: `innerHTML` takes nothing else under Trusted Types.
  return clean as unknown as string;
}
