/**
 * Whether the text is an absolute web address without credentials. Restricts the characters of the host: the origin is
 * part of a security policy, where `;` and `,` are separators and `*` matches any host.
 */
export function isWebAddress(text: string, schemes: readonly ('http' | 'https')[] = ['http', 'https']): boolean {
  const url = URL.parse(text)
  // `URL.parse` accepts "http:evil", but a browser may resolve it relative to the current page.
  return (
    url !== null &&
    schemes.some((scheme) => text.toLowerCase().startsWith(`${scheme}://`)) &&
    url.username === '' &&
    url.password === '' &&
    /^[\w.:[\]-]+$/.test(url.host) &&
    !/^\.|\.\./.test(url.host)
  )
}
