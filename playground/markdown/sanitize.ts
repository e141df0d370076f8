import DOMPurify from 'dompurify';

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
export function sanitize(html: string): string {
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
