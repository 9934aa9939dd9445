/** The options of a connection, and the mailbox: `imaps://user:password@host:993/INBOX`. */
export function parseImapUrl(text: string, timeoutMs: number) {
  const url = new URL(text)
  const secure = url.protocol === 'imaps:'
  const options = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (secure ? 993 : 143)),
    secure,
    auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
    logger: false as const,
    disableAutoIdle: true,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  }
  return { options, mailbox: decodeURIComponent(url.pathname.slice(1)) || 'INBOX' }
}
