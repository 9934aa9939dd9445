/**
 * The URLs that others repeat, without what mail clients, servers and forms make of them.
 *
 * The link of an opt-out must never fail. It comes with a slash, a space or a full stop, in upper case, with `=3D` and `=3F` for its
 * signs (an email that was decoded once too little), with `%3F` and `%3D` (encoded once or twice too often), or with `&amp;`.
 * The URL of a mail hook comes with a slash. The token itself is read by `LinkToken`.
 */
export function repairUrl(url: string): string {
  const [, page = '', rest = ''] = optOutPage.exec(url) ?? []
  if (page !== '') return `/public/${page.toLowerCase()}${repairQuery(rest)}`
  return mailHook.test(url) ? url.replace(/\/+(?=\?|$)/, '') : url
}

const optOutPage = /^\/+public\/+(unsubscribe|preferences)(?![\w-])(.*)$/is
const mailHook = /^\/mail-events\/[^/?]+\/[^/?]+\/+(?:\?|$)/

const start = /^(?:[/?.&]|%(?:25)?(?:2F|3F|20|0A|0D)|=3F|amp;)+/i
const parameter = /(^|&)(token|lang)(?:=|%(?:25)?3D)(?:%3D)?/gi

/** A token that starts with `3D` is rare, but may be right: `openRepairedPayload` tries both. */
function repairQuery(rest: string): string {
  const query = rest.replace(start, '').replace(/&amp;/gi, '&')
  if (query === '') return ''
  return `?${query.replace(parameter, (_, sign: string, name: string) => `${sign}${name.toLowerCase()}=`)}`
}
